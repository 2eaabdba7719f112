// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// notedNeeds has the needs of each job without pods at its last request for admission. Later sessions count them as
// requested: nothing else shows that these jobs wait. They do not affect any decision.
type notedNeeds map[api.JobID]ledger.Amounts

// NoteNeeds notes the needs of a job that requests admission to its queue. Where pods have a choice, the first choice counts.
func (s *Snapshot) NoteNeeds(job *api.JobInfo, needs demand.Needs) {
	if len(job.Tasks) > 0 {
		return
	}
	amounts := slices.Clone(needs.Amounts)
	for _, choice := range needs.Choices {
		for _, e := range choice.Alternatives[0] {
			if all, err := e.Amount.Times(choice.Pods); err == nil {
				amounts = demand.Sum(amounts, ledger.Amounts{{Dimension: e.Dimension, Amount: all}})
			}
		}
	}
	s.notedNeeds[job.UID] = demand.Sum(amounts, firstChoices(needs.Splits))
}

// firstChoices returns the sum of splits if all shares use the preferred dimension.
func firstChoices(splits []ledger.Split) ledger.Amounts {
	var amounts ledger.Amounts
	for _, split := range splits {
		if all, err := ledger.Units(split.Each).Times(split.Shares); err == nil {
			amounts = demand.Sum(amounts, ledger.Amounts{{Dimension: split.Among[0], Amount: all}})
		}
	}
	return amounts
}

// forgetNeeds forgets jobs that have pods, have ended, or are gone.
func (s *Snapshot) forgetNeeds() {
	maps.DeleteFunc(s.notedNeeds, func(id api.JobID, _ ledger.Amounts) bool {
		job := s.Jobs[id]
		return job == nil || len(job.Tasks) > 0 || !job.IsPending() && job.PodGroup.Status.Phase != scheduling.PodGroupInqueue
	})
}
