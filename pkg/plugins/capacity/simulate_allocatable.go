// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// simulateAllocatable is Volcano's SimulateAllocatableFn: may the queue take the pod in the simulation?
func (p *plugin) simulateAllocatable(_ context.Context, cycle fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo) bool {
	books, err := p.simulation(cycle)
	if err != nil {
		return false
	}
	return p.refusePod(books, queue, task) == nil
}
