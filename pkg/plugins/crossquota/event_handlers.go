package crossquota

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// onAllocate counts a pod that was given a node, for good (allocate) or in hope (pipeline), or
// whose eviction was taken back. Hope that the quota will disappoint is refused: the reclaim
// action looks at resources alone, and does not ask predicates when it has its victims.
func (p *plugin) onAllocate(event *framework.Event) {
	task := event.Task
	a, facts := p.counts(task)
	if a == nil {
		return
	}
	if task.Status == api.Pipelined && !a.fitsWithout(nil, facts.requests) {
		event.Err = p.refuse(task, p.session.Nodes[task.NodeName], a, facts.requests, api.Unschedulable)
	}
	a.hold(api.TaskID(task.Pod.UID), facts.requests, p.holder(task))
}

// onDeallocate takes back what onAllocate counted. A pod that is evicted holds what it holds until
// it is gone.
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
	a.leave(id)
}

// counts returns the account that a pod is counted in; nil if it is in none.
func (p *plugin) counts(task *api.TaskInfo) (*account, *podFacts) {
	a := p.accounts[task.NodeName]
	if a == nil {
		return nil, nil
	}
	facts := p.process.remember(task.Pod)
	if !facts.counted {
		return nil, nil
	}
	return a, facts
}
