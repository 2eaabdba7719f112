// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// allocate is Volcano's AllocateFunc. It charges a pod that was allocated or pipelined to a node in this session, or whose eviction
// was undone. A pod that cannot have its devices must not be bound: Volcano undoes the allocation, or the binding of the pod fails.
func (p *plugin) allocate(event *framework.Event) {
	task := event.Task
	pod, err := p.snapshot.PodOf(task)
	if err != nil {
		klog.V(3).InfoS("Pod is not charged", "reason", err.Error())
		return
	}
	pod = p.snapshot.PlaceOn(pod, p.session.Nodes[task.NodeName])
	switch {
	case !pod.Plain():
		event.Err = p.placements.Place(pod, task)
	case task.Status == api.Pipelined:
		p.snapshot.Pipeline(pod, task)
	case task.Status == api.Allocated:
		if event.Err = p.refuseNodes(task, p.checks.Promise(p.jobOf(task), pod, task)); event.Err == nil {
			p.snapshot.Allocate(pod, task)
		}
	default:
		p.snapshot.Allocate(pod, task)
	}
}

// deallocate is Volcano's DeallocateFunc. It refunds a pod that is evicted, or whose allocation is undone.
func (p *plugin) deallocate(event *framework.Event) {
	task := event.Task
	if task.Status == api.Pending {
		p.forgetNode(task)
	}
	pod, err := p.snapshot.PodOf(task)
	if err != nil {
		klog.V(3).InfoS("Pod is not refunded", "reason", err.Error())
		return
	}
	if p.checks.Awaits(task) {
		return // it keeps what it was promised
	}
	var standIns ledger.Demand
	if placement := p.placements.Of(task); placement != nil {
		if placement.Unbindable != nil {
			p.snapshot.Unplace(pod)
			return // the pod was not charged
		}
		standIns, placement.StandIns = placement.StandIns, nil
	}
	p.snapshot.Deallocate(pod, task, standIns)
	if p.devices != nil {
		p.devices.Unreserve(pod)
	}
	if task.Status == api.Pending {
		if p.snapshot.Unplace(pod); p.searches == nil {
			p.checks.PromiseUndone(pod, task)
		}
	}
}

// forgetNode removes the node from the object of a pod. Volcano writes it there when it assigns the pod, and leaves it when it undoes
// that. The informers share the object, and a pod with a node counts as running. Volcano may also have decided to bind the pod before
// its own cache found no room on the node.
func (p *plugin) forgetNode(task *api.TaskInfo) {
	task.Pod.Spec.NodeName = ""
	p.cache.snapshots.NotBinding(task.Pod.UID)
}

// forgetUnboundNodes calls forgetNode, when the session closes, for assigned pods that are not being bound because their
// job has too few pods. Volcano does not undo these assignments if they are from the backfill action.
func (p *plugin) forgetUnboundNodes() {
	for _, job := range p.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Allocated] {
			p.forgetNode(task)
		}
	}
}
