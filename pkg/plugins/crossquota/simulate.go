package crossquota

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// simulatePredicate is Volcano's SimulatePredicateFn. Topology-aware preemption removes pods from
// a copy of a node and puts them back, on several copies at the same time, and asks after each
// step. All that the quota depends on is in that copy: counting it anew needs no record of the
// steps, and so there is neither a SimulateAddTaskFn nor a SimulateRemoveTaskFn.
//
// Pods that are being evicted already count as gone, or each cycle until they are would take
// further victims.
func (p *plugin) simulatePredicate(_ context.Context, _ fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	a := p.accounts[node.Name]
	if a == nil {
		return nil
	}
	facts := p.process.facts(task.Pod)
	if !facts.counted {
		return nil
	}
	future := newAccount(a.facts, len(node.Tasks))
	for _, other := range node.Tasks {
		known := p.process.facts(other.Pod)
		if known.counted && other.Status != api.Releasing {
			future.hold(api.TaskID(other.Pod.UID), known.requests, holder{})
		}
	}
	if future.fits(facts.requests) {
		return nil
	}
	return p.refuse(task, node, future, facts.requests, api.Unschedulable)
}
