// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"maps"
	"slices"

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

// Promise refuses a pod as Releasing does. It promises the pod, and the others without which its job cannot start, the room that they wait for:
// until the session closes, they are refused, and nobody who comes later gets it. If the job cannot start then either, Volcano's
// undoing of the allocation ends what the pod is charged. The job is nil if the session lacks it.
func (s *Session) Promise(job *api.JobInfo, pod *demand.Pod, task *api.TaskInfo) report.Refusal {
	refusal := s.Releasing(task)
	if refusal == nil {
		return nil
	}
	s.Snapshot.Pipeline(pod, task)
	if job == nil || s.Awaits(task) {
		return refusal
	}
	missing := job.MinAvailable - job.ReadyTaskNum()
	if s.canStart(job, missing) {
		s.await(task, refusal)
		s.promiseRest(job, missing)
	}
	return refusal
}

// promiseRest promises room to the pods that a job lacks to start.
func (s *Session) promiseRest(job *api.JobInfo, missing int32) {
	for _, task := range pending(job) {
		if missing--; missing < 0 {
			return
		}
		refusal := s.Releasing(task)
		if pod := s.Snapshot.Known(task.Pod); pod != nil && pod.Plain() && refusal != nil && s.fits(pod) {
			s.await(task, refusal)
			s.Snapshot.Pipeline(pod, task)
		}
	}
}

// PromiseUndone promises a pod whose allocation is undone, because its job awaits the room of another one, the room that it would have had.
func (s *Session) PromiseUndone(pod *demand.Pod, task *api.TaskInfo) {
	if s.jobsAwaiting[task.Job] != nil && pod.Plain() {
		s.await(task, s.Releasing(task))
		s.Snapshot.Pipeline(pod, task)
	}
}

// await notes that a pod is promised its room because Releasing refuses it, or refuses another one of its job: then the refusal is nil.
func (s *Session) await(task *api.TaskInfo, refusal report.Refusal) {
	if refusal == nil {
		refusal = s.jobsAwaiting[task.Job]
	}
	if s.awaiting == nil {
		s.awaiting, s.jobsAwaiting = map[types.UID]report.Refusal{}, map[api.JobID]report.Refusal{}
	}
	s.awaiting[task.Pod.UID], s.jobsAwaiting[task.Job] = refusal, refusal
}

// Awaits reports whether a pod has been promised room.
func (s *Session) Awaits(task *api.TaskInfo) bool { return s.awaiting[task.Pod.UID] != nil }

// AlsoReleasing refuses as Releasing does, if a pod of the same job has been promised room.
func (s *Session) AlsoReleasing(task *api.TaskInfo) report.Refusal {
	if s.jobsAwaiting[task.Job] == nil {
		return nil
	}
	return s.Releasing(task)
}

// fits reports whether the queue of a pod has room for it when pods that are being deleted have ended.
func (s *Session) fits(pod *demand.Pod) bool {
	refused, err := s.Snapshot.Ledger.Fits(pod.Queue, s.Snapshot.Asked(pod))
	return err == nil && refused == nil
}

// OnlyReleasing refuses the pods of a job that waits for nothing but the end of pods that are being deleted: nobody is evicted for it. The
// first pod decides for its job, because what is freed by evictions for the others has not ended yet either. Once a pod has room, no other one is
// refused.
func (s *Session) OnlyReleasing(task *api.TaskInfo) report.Refusal {
	awaits, known := s.onlyAwaits[task.Job]
	if known && !awaits {
		return nil
	}
	refusal := s.Releasing(task)
	if refusal != nil && !known && !s.fits(s.Snapshot.Known(task.Pod)) {
		refusal = nil // it waits for more than that
	}
	if s.onlyAwaits == nil {
		s.onlyAwaits = map[api.JobID]bool{}
	}
	s.onlyAwaits[task.Job] = refusal != nil
	return refusal
}

// canStart reports whether enough pods of a job that are pending have room when pods that are being deleted have ended, beside those that have been
// given nodes already. Otherwise, the job cannot start then either, and must keep the room from nobody. The answer holds until the session closes. Pods
// with devices or cards count as if they had room.
func (s *Session) canStart(job *api.JobInfo, missing int32) bool {
	if fits, known := s.minimumFits[job.UID]; known {
		return fits
	}
	books := s.Snapshot.Ledger.View()
	for _, task := range pending(job) {
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

// pending returns the pending pods of a job, those of higher priority first.
func pending(job *api.JobInfo) []*api.TaskInfo {
	return slices.SortedFunc(maps.Values(job.TaskStatusIndex[api.Pending]), func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
}
