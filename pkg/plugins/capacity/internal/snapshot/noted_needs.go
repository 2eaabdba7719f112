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
type notedNeeds map[api.JobID]requested

// requested is what a job requests, and what its pods may choose in addition.
type requested struct{ amounts, either ledger.Amounts }

// NoteNeeds notes the needs of a job that requests admission to its queue.
func (s *Snapshot) NoteNeeds(job *api.JobInfo, needs demand.Needs) {
	if len(job.Tasks) > 0 {
		return
	}
	s.notedNeeds[job.UID] = requested{slices.Clone(needs.Amounts), needs.Either()}
}

// forgetNeeds forgets jobs that have pods, have ended, or are gone.
func (s *Snapshot) forgetNeeds() {
	maps.DeleteFunc(s.notedNeeds, func(id api.JobID, _ requested) bool {
		job := s.Jobs[id]
		return job == nil || len(job.Tasks) > 0 || !job.IsPending() && job.PodGroup.Status.Phase != scheduling.PodGroupInqueue
	})
}
