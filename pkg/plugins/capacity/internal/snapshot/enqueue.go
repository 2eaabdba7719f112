// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// FitsInqueue returns why a queue has no room for the minimum of a job, nil if it has room.
func (s *Snapshot) FitsInqueue(queue ledger.QueueID, needs demand.Needs) (*ledger.Refusal, error) {
	return s.Counter.FitsInqueue(s.Ledger, queue, needs)
}

// Enqueue accounts an admitted job.
func (s *Snapshot) Enqueue(job *api.JobInfo) {
	queue, found := s.Ledger.Queue(string(job.Queue))
	if !found {
		return
	}
	var gated ledger.Amounts
	for _, task := range job.Tasks {
		if task.SchGated {
			gated = plusPart(gated, &s.refresh(task).Resources)
		}
	}
	needs, err := s.Needs(job)
	if err != nil {
		klog.V(3).InfoS("A job is admitted without its devices being counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
	}
	needs.Amounts = needs.Amounts.Beyond(gated, nil)
	s.accountMissing([]missing{{job, queue, needs}})
}
