// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Releasing refuses a pod for which its queue has room only when pods that are being deleted have ended.
func (s *Session) Releasing(task *api.TaskInfo) report.Refusal {
	if !s.Snapshot.Retains() {
		return nil
	}
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil || !pod.InLedger {
		return nil
	}
	refused, err := s.Snapshot.Held().Fits(pod.Queue, s.Snapshot.Asked(pod))
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused != nil:
		return s.Exceeded(pod.Queue, pod, refused, cards.State{})
	}
	return nil
}

// OnlyReleasing refuses the pods of a job that waits for nothing but the end of pods that are being deleted: nobody is evicted for it. The
// first pod decides for its job, because what is freed by evictions for the others has not ended yet either.
func (s *Session) OnlyReleasing(task *api.TaskInfo) report.Refusal {
	awaits, known := s.awaiting[task.Job]
	if known && !awaits {
		return nil
	}
	refusal := s.Releasing(task)
	if refusal != nil && !known {
		pod := s.Snapshot.Known(task.Pod)
		if refused, err := s.Snapshot.Ledger.Fits(pod.Queue, s.Snapshot.Asked(pod)); err != nil || refused != nil {
			refusal = nil // it waits for more than that
		}
	}
	if s.awaiting == nil {
		s.awaiting = map[api.JobID]bool{}
	}
	s.awaiting[task.Job] = refusal != nil
	return refusal
}
