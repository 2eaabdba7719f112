// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Releasing refuses a pod if its queue has room only after pods that are being deleted have ended.
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
		return s.Exceeded(pod.Queue, pod, refused, nil)
	}
	return nil
}

// Promise refuses a pod as Releasing does. It promises the awaited room to the pod, and to the other pods without which its job cannot start.
// Until the session closes, these pods are refused, and later pods do not get the room. If the job cannot start even then, Volcano undoes the
// allocation, which ends the charge of the pod. The job is nil if the session lacks it.
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

// promiseRest promises room to the pods that a job still needs to start.
func (s *Session) promiseRest(job *api.JobInfo, missing int32) {
	for _, task := range s.startable(job) {
		if missing <= 0 {
			return
		}
		pod := s.Snapshot.Known(task.Pod)
		if pod.Plain() && !s.fits(pod) {
			continue
		}
		missing--
		if refusal := s.Releasing(task); pod.Plain() && refusal != nil {
			s.await(task, refusal)
			s.Snapshot.Pipeline(pod, task)
		}
	}
}

// PromiseUndone promises the room of an undone allocation to its pod. Volcano undid it because the job awaits room for another pod.
func (s *Session) PromiseUndone(pod *demand.Pod, task *api.TaskInfo) {
	if s.jobsAwaiting[task.Job] != nil && pod.Plain() {
		s.await(task, s.Releasing(task))
		s.Snapshot.Pipeline(pod, task)
	}
}

// await notes that a pod is promised room. The refusal comes from Releasing. It is nil if Releasing refuses only another pod of the job.
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

// fits reports whether the queue of a pod has room for it after pods that are being deleted have ended.
func (s *Session) fits(pod *demand.Pod) bool {
	refused, err := s.Snapshot.Ledger.Fits(pod.Queue, s.Snapshot.Asked(pod))
	return err == nil && refused == nil
}

// OnlyReleasing refuses the pods of a job that waits only for the end of pods that are being deleted: no pod is evicted for it. The first pod
// decides for its job: victims evicted for the other pods have not ended yet either. It does only if the job can start then: otherwise, one pod
// that ends late would protect all others. Once a pod has room, no other pod of the job is refused.
func (s *Session) OnlyReleasing(task *api.TaskInfo) report.Refusal {
	awaits, known := s.onlyAwaits[task.Job]
	if known && !awaits {
		return nil
	}
	refusal := s.Releasing(task)
	if job := s.Snapshot.Jobs[task.Job]; refusal != nil && !known && (!s.fits(s.Snapshot.Known(task.Pod)) ||
		job != nil && !s.canStart(job, job.MinAvailable-job.ReadyTaskNum())) {
		refusal = nil // it waits for more than that
	}
	if s.onlyAwaits == nil {
		s.onlyAwaits = map[api.JobID]bool{}
	}
	s.onlyAwaits[task.Job] = refusal != nil
	return refusal
}

// canStart reports whether enough pending pods of a job have room after pods that are being deleted have ended, in addition to its pods that
// already have nodes. Otherwise, the job cannot start even then, and must not keep the room from other jobs. The answer holds until the session
// closes. Pods with devices or cards count as if they had room.
func (s *Session) canStart(job *api.JobInfo, missing int32) bool {
	if fits, known := s.minimumFits[job.UID]; known {
		return fits
	}
	books := s.Snapshot.Ledger.View()
	for _, task := range s.startable(job) {
		if missing <= 0 {
			break
		}
		if pod := s.Snapshot.Known(task.Pod); pod.Plain() {
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

// startable returns the pending pods of a job that are not gated and whose queue takes pods, those of higher priority first.
func (s *Session) startable(job *api.JobInfo) []*api.TaskInfo {
	tasks := slices.SortedFunc(maps.Values(job.TaskStatusIndex[api.Pending]), func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	return slices.DeleteFunc(tasks, func(task *api.TaskInfo) bool {
		pod := s.Snapshot.Known(task.Pod)
		return pod == nil || !pod.InLedger || task.SchGated
	})
}
