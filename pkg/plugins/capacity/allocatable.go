// SPDX-License-Identifier: Apache-2.0

package capacity

import "volcano.sh/volcano/pkg/scheduler/api"

// allocatable is Volcano's AllocatableFn: may the queue take the pod in addition to what it has?
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	if refusal := p.refusePod(p.snapshot.Ledger, queue, task); refusal != nil {
		if p.solves != nil && p.solves.Checking() {
			return false
		}
		p.cache.report.RefusePod(p.jobOf(task), task, refusal)
		return false
	}
	return true
}
