// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// simulateAddTask is Volcano's SimulateAddTaskFn. A removed pod comes back.
func (p *plugin) simulateAddTask(_ context.Context, cycle fwk.CycleState, _, added *api.TaskInfo, _ *api.NodeInfo) error {
	books, pod, err := p.placements.SimulationWith(cycle, added)
	if err != nil {
		return err
	}
	return books.Charge(pod.Queue, snapshot.HolderOf(added), pod.Demand)
}

// simulateRemoveTask is Volcano's SimulateRemoveTaskFn. A pod gives back what it holds.
func (p *plugin) simulateRemoveTask(_ context.Context, cycle fwk.CycleState, _, removed *api.TaskInfo, _ *api.NodeInfo) error {
	books, pod, err := p.placements.SimulationWith(cycle, removed)
	if err != nil {
		return err
	}
	return books.ReleaseHeld(snapshot.HolderOf(removed), pod.Demand)
}

// simulateAllocatable is Volcano's SimulateAllocatableFn. It reports whether the queue may take the pod in the simulation.
func (p *plugin) simulateAllocatable(_ context.Context, cycle fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo) bool {
	books, err := p.placements.Simulation(cycle)
	return err == nil && p.checks.Pod(books, queue, task) == nil
}
