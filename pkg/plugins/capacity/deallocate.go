// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/ledger"
)

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
	var pipelined ledger.Demand
	if placement := p.existingPlacement(task); placement != nil {
		if placement.unbindable != nil {
			p.snapshot.Unplace(pod)
			return // the pod was not charged
		}
		pipelined, placement.pipelined = placement.pipelined, nil
	}
	p.snapshot.Deallocate(pod, task, pipelined)
	if p.devices != nil {
		p.devices.Unreserve(pod)
	}
	if task.Status == api.Pending {
		p.snapshot.Unplace(pod)
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

// deallocateUnusable takes devices away from claims whose pods could not use them in this session.
func (p *plugin) deallocateUnusable() {
	for _, placement := range p.filtered {
		id, job := placement.task.UID, p.jobOf(placement.task)
		if job == nil || placement.devices == nil || placement.exceeded != nil {
			continue
		}
		if job.TaskStatusIndex[api.Pending][id] != nil && job.NodesFitErrors[id] != nil {
			p.devices.Deallocate(placement.devices)
		}
	}
}

// unreserveUnbound puts back, when the session closes, what is reserved for pods that are not being bound.
func (p *plugin) unreserveUnbound() {
	if p.devices == nil {
		return
	}
	binding := map[types.UID]bool{}
	for _, job := range p.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Binding] {
			binding[task.Pod.UID] = true
		}
	}
	p.devices.UnreserveUnbound(func(pod types.UID) bool { return binding[pod] })
}
