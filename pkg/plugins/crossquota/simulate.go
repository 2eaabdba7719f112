// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// simulatePredicate is Volcano's SimulatePredicateFn. Topology-aware preemption removes pods from copies
// of nodes and adds them again, on several copies at the same time, and calls this function after each
// step. The copy has all that the quota depends on, so the account is computed from it each time, and
// the plugin needs neither a SimulateAddTaskFn nor a SimulateRemoveTaskFn.
//
// Releasing pods count as gone. Otherwise each cycle until they are gone would evict further pods.
func (p *plugin) simulatePredicate(_ context.Context, _ fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	a := p.accounts[node.Name]
	if a == nil {
		return nil
	}
	facts := p.cache.facts(task.Pod)
	if !facts.counted {
		return nil
	}
	future := newAccount(a.facts, len(node.Tasks))
	for _, other := range node.Tasks {
		pod := p.cache.facts(other.Pod)
		if pod.counted && other.Status != api.Releasing {
			future.charge(api.TaskID(other.Pod.UID), pod.requests, holder{})
		}
	}
	if future.fits(facts.requests) {
		return nil
	}
	return p.refuse(task, node, future, facts.requests, api.Unschedulable)
}
