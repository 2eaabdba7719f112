// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// Backfill runs upstream's action backfill, which places pods that request no resources. It binds the pods of a job when the job is ready.
// Until then, they have nodes in the session only.
func (s *Session) Backfill(run func()) {
	s.backfilling = true
	run()
	s.UndoIncomplete(nil)
	s.backfilling = false
}

// UndoIncomplete takes their nodes from the pods of the job that backfill placed before this one, if it has less than its minimum. So
// they keep no devices from the next jobs. Backfill places the pods of one job after the other. UndoIncomplete reports whether something has
// changed.
func (s *Session) UndoIncomplete(next *api.JobInfo) bool {
	job := s.backfilled
	if !s.backfilling || job == next {
		return false
	}
	s.backfilled = next
	if job == nil || eviction.MayStart(job) {
		return false
	}
	statement, undone := framework.NewStatement(s.Volcano), false
	for _, task := range job.TaskStatusIndex[api.Allocated] {
		undone = true
		if err := statement.UnAllocate(task); err != nil {
			klog.ErrorS(err, "Failed to undo that a pod is allocated", "pod", klog.KObj(task.Pod))
		}
	}
	return undone
}
