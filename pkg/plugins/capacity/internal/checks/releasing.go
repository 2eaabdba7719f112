// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Releasing refuses a pod for which its queue has room only when pods that are being deleted have ended.
func (s *Session) Releasing(task *api.TaskInfo) report.Refusal {
	if !s.Snapshot.Retains() {
		return nil
	}
	if refusal := s.awaiting[task.Pod.UID]; refusal != nil {
		return refusal
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

// Await notes that a pod is promised its room because Releasing refuses it, or refuses another one without which its job cannot start: then the
// refusal is nil. It is refused until the session closes.
func (s *Session) Await(task *api.TaskInfo, refusal report.Refusal) {
	if refusal == nil {
		refusal = s.jobsAwaiting[task.Job]
	}
	if s.awaiting == nil {
		s.awaiting, s.jobsAwaiting = map[types.UID]report.Refusal{}, map[api.JobID]report.Refusal{}
	}
	s.awaiting[task.Pod.UID], s.jobsAwaiting[task.Job] = refusal, refusal
}

// Awaits reports whether Await has been called for a pod.
func (s *Session) Awaits(task *api.TaskInfo) bool { return s.awaiting[task.Pod.UID] != nil }

// JobAwaits reports whether Await has been called for a pod of a job.
func (s *Session) JobAwaits(job api.JobID) bool { return s.jobsAwaiting[job] != nil }

// Fits reports whether the queue of a pod has room for it when pods that are being deleted have ended.
func (s *Session) Fits(pod *demand.Pod) bool {
	refused, err := s.Snapshot.Ledger.Fits(pod.Queue, s.Snapshot.Asked(pod))
	return err == nil && refused == nil
}

// OnlyReleasing refuses the pods of a job that waits for nothing but the end of pods that are being deleted: nobody is evicted for it. The
// first pod decides for its job, because what is freed by evictions for the others has not ended yet either.
func (s *Session) OnlyReleasing(task *api.TaskInfo) report.Refusal {
	awaits, known := s.onlyAwaits[task.Job]
	if known && !awaits {
		return nil
	}
	refusal := s.Releasing(task)
	if refusal != nil && !known && !s.Fits(s.Snapshot.Known(task.Pod)) {
		refusal = nil // it waits for more than that
	}
	if s.onlyAwaits == nil {
		s.onlyAwaits = map[api.JobID]bool{}
	}
	s.onlyAwaits[task.Job] = refusal != nil
	return refusal
}

// MinimumFits reports whether enough pods of a job that are pending have room when pods that are being deleted have ended, beside those that have been
// given nodes already. Otherwise, the job cannot start then either, and must keep the room from nobody. The answer holds until the session closes. Pods
// with devices or cards count as if they had room.
func (s *Session) MinimumFits(job *api.JobInfo, missing int32) bool {
	if fits, known := s.minimumFits[job.UID]; known {
		return fits
	}
	books := s.Snapshot.Ledger.View()
	for _, task := range job.TaskStatusIndex[api.Pending] {
		pod := s.Snapshot.Known(task.Pod)
		if missing <= 0 {
			break
		}
		if pod == nil || !pod.InLedger || task.SchGated {
			continue
		}
		if pod.Plain() {
			refused, err := books.Fits(pod.Queue, s.Snapshot.Asked(pod))
			if err != nil || refused != nil || books.Charge(pod.Queue, snapshot.HolderOf(task), pod.Own()) != nil {
				continue
			}
		}
		missing--
	}
	if s.minimumFits == nil {
		s.minimumFits = map[api.JobID]bool{}
	}
	s.minimumFits[job.UID] = missing <= 0
	return missing <= 0
}
