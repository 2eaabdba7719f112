// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// End ends a session. It removes refused jobs that only wait from the jobs of the session, and writes their PodGroups itself.
// The session would write an event Unschedulable with the same message on each of these PodGroups in each cycle. opened is
// the state of PodGroups when the session opened. Dirty jobs stay, because the session has more to write about them.
//
// Call it after everything else that reads or changes the jobs of the session.
func (r *Reporter) End(jobs map[api.JobID]*api.JobInfo, opened *api.PodGroupOldState, dirty sets.Set[api.JobID]) {
	if r.Status == nil {
		return
	}
	for id := range r.jobs {
		job, found := jobs[id]
		if !found || dirty.Has(id) || !onlyWaits(job) {
			continue
		}
		delete(jobs, id)
		status := &job.PodGroup.Status
		status.Phase, status.Running = scheduling.PodGroupPending, 0
		status.Succeeded, status.Failed = count(job, api.Succeeded), count(job, api.Failed)
		if before, found := opened.Status[id]; !found || !sameStatus(&before, status) {
			r.Status.podGroup(&job.PodGroup.PodGroup)
		}
	}
	r.Status.end()
}

// onlyWaits reports whether a refused job only waits, so the session has nothing else to write about it. The job holds
// nothing that counts for the status of its queue, has no pod that the session explains, and stays Pending.
func onlyWaits(job *api.JobInfo) bool {
	for status, tasks := range job.TaskStatusIndex {
		if len(tasks) > 0 && (api.AllocatedStatus(status) || status == api.Pipelined) {
			return false
		}
	}
	completed := count(job, api.Succeeded) + count(job, api.Failed)
	return job.IsPending() && (completed == 0 || completed < job.PodGroup.Spec.MinMember)
}

func count(job *api.JobInfo, status api.TaskStatus) int32 {
	return int32(len(job.TaskStatusIndex[status]))
}

// sameStatus reports whether two statuses are the same. As in upstream, it ignores which session wrote a condition last.
func sameStatus(a, b *scheduling.PodGroupStatus) bool {
	return a.Phase == b.Phase && a.Running == b.Running && a.Succeeded == b.Succeeded && a.Failed == b.Failed &&
		slices.EqualFunc(a.Conditions, b.Conditions, func(a, b scheduling.PodGroupCondition) bool {
			a.TransitionID, a.LastTransitionTime = b.TransitionID, b.LastTransitionTime
			return a == b
		})
}
