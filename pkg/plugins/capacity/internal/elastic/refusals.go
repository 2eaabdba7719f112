// SPDX-License-Identifier: Apache-2.0

package elastic

import "volcano.sh/volcano/pkg/scheduler/api"

// RefuseForGood reports the pods that Volcano found no node for, and for which no node, or no HyperNode for all of them, would do even if it were empty.
func (s *Session) RefuseForGood() {
	for _, job := range s.Volcano.Jobs {
		if never := s.Placements.NeverTogether(job); never != nil {
			for id, task := range job.TaskStatusIndex[api.Pending] {
				if !s.Report.Refused(id) {
					s.Report.RefusePod(nil, task, never)
				}
			}
		}
		for id := range job.NodesFitErrors {
			task := job.TaskStatusIndex[api.Pending][id]
			if task == nil || s.Report.Refused(id) {
				continue
			}
			if pod := s.Snapshot.Known(task.Pod); pod != nil {
				if never := s.Checks.NeverFits(pod); never != nil {
					s.Report.RefusePod(nil, task, never)
				}
			}
		}
	}
}

// RefuseUnplaced reports the pods for which filtering found no node.
func (s *Session) RefuseUnplaced() {
	s.Placements.Filtered(func(task *api.TaskInfo) {
		if s.Report.Refused(task.UID) {
			return
		}
		if refusal := s.Placements.Refusal(task); refusal != nil {
			s.Report.RefusePod(nil, task, s.Explained(task.Job, refusal))
		}
	})
}
