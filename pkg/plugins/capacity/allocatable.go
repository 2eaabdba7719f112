// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// allocatable is Volcano's AllocatableFn. It reports whether the queue may take the pod in addition to what it has.
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	if p.placements.Excludes(task) {
		return false
	}
	refusal := p.checks.Pod(p.snapshot.Ledger, queue, task)
	if refusal != nil && p.elastic.Scope() != placement.OutdatedOnly {
		p.cache.report.RefusePod(p.jobOf(task), task, refusal)
	}
	return refusal == nil
}
