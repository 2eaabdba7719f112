// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// onAllocate charges a pod that is allocated to a node or pipelined, or that is no longer evicted. It refuses a pipelined pod that does not
// fit the quota, because the reclaim action looks only at resources, and does not call predicates again after it has chosen victims.
func (p *plugin) onAllocate(event *framework.Event) {
	task := event.Task
	a, facts := p.counts(task)
	if a == nil {
		return
	}
	if task.Status == api.Pipelined && !a.fitsAfter(nil, facts.requests) {
		event.Err = p.refuse(task, p.session.Nodes[task.NodeName], a, facts.requests, api.Unschedulable)
	}
	a.charge(api.TaskID(task.Pod.UID), facts.requests, p.holder(task))
}

// onDeallocate releases what onAllocate charged. A pod that is evicted stays charged until it is gone.
func (p *plugin) onDeallocate(event *framework.Event) {
	a, _ := p.counts(event.Task)
	if a == nil {
		return
	}
	id := api.TaskID(event.Task.Pod.UID)
	if event.Task.Status == api.Pending {
		a.release(id)
		return
	}
	a.markReleasing(id)
}

// counts returns the account that a pod is charged to, or nil if the quota does not apply to the pod.
func (p *plugin) counts(task *api.TaskInfo) (*account, *podFacts) {
	a := p.accounts[task.NodeName]
	if a == nil {
		return nil, nil
	}
	facts := p.cache.remember(task.Pod)
	if !facts.counted {
		return nil, nil
	}
	return a, facts
}
