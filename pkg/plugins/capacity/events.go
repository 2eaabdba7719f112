// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// allocate is Volcano's AllocateFunc. It charges a pod that was allocated or pipelined to a node in this session, or
// whose eviction was undone. A pod that cannot have its devices must not be bound: Volcano undoes the allocation,
// or the binding of the pod fails.
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
	case task.Status == api.Allocated && p.checks.Releasing(task) != nil:
		event.Err = p.awaitReleasing(pod, task)
	default:
		p.snapshot.Allocate(pod, task)
	}
}

// awaitReleasing promises a pod, and the others without which its job cannot start, the room that pods which are being deleted still have in its
// queue: until the session closes, nobody who comes later gets it. The error says why Volcano must not bind the pod yet.
func (p *plugin) awaitReleasing(pod *demand.Pod, task *api.TaskInfo) error {
	refusal, job := p.checks.Releasing(task), p.jobOf(task)
	p.snapshot.Pipeline(pod, task) // if it is not to await anything, Volcano undoes the allocation, and deallocate this
	if job != nil && !p.checks.Awaits(task) && p.checks.MinimumFits(job, job.MinAvailable-job.ReadyTaskNum()) {
		p.checks.Await(task, refusal)
		p.promiseRest(job)
	}
	return p.refuseNodes(task, refusal)
}

// promiseRest promises the pods that a job lacks to start the room that pods which are being deleted still have.
func (p *plugin) promiseRest(job *api.JobInfo) {
	missing := job.MinAvailable - job.ReadyTaskNum()
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if missing--; missing < 0 {
			return
		}
		refusal := p.checks.Releasing(task)
		if pod := p.snapshot.Known(task.Pod); pod != nil && pod.Plain() && refusal != nil && p.checks.Fits(pod) {
			p.checks.Await(task, refusal)
			p.snapshot.Pipeline(pod, task)
		}
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
	var pipelined ledger.Demand
	if placement := p.placements.Of(task); placement != nil {
		if placement.Unbindable != nil {
			p.snapshot.Unplace(pod)
			return // the pod was not charged
		}
		pipelined, placement.Pipelined = placement.Pipelined, nil
	}
	p.snapshot.Deallocate(pod, task, pipelined)
	if p.devices != nil {
		p.devices.Unreserve(pod)
	}
	if task.Status == api.Pending {
		p.snapshot.Unplace(pod)
	}
	if task.Status == api.Pending && p.checks.JobAwaits(task.Job) && pod.Plain() && !p.evicting {
		p.checks.Await(task, p.checks.Releasing(task))
		p.snapshot.Pipeline(pod, task)
	}
}

// forgetNode removes the node that Volcano wrote into the object of a pod when it assigned the pod, and leaves there when
// it undoes that. The informers have the same object, and a pod with a node counts as one that runs. Volcano may have decided to bind
// the pod, and found out that its own cache has no room on the node.
func (p *plugin) forgetNode(task *api.TaskInfo) {
	task.Pod.Spec.NodeName = ""
	p.cache.snapshots.NotBinding(task.Pod.UID)
}

// forgetUnboundNodes does the same, when the session closes, for pods that were assigned and are not being bound, because
// their job does not have enough pods. Volcano does not undo that if the backfill action has assigned them.
func (p *plugin) forgetUnboundNodes() {
	for _, job := range p.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Allocated] {
			p.forgetNode(task)
		}
	}
}
