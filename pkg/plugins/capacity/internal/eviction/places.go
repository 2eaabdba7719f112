// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/util/workqueue"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

// filterWorkers is the number of nodes that are filtered in parallel, as in upstream.
const filterWorkers = 16

// places are the possible nodes for the pods of one role of a job, with their costs.
type places struct {
	nodes []*api.NodeInfo
	// candidates has, for each node, the units that must go.
	candidates []candidate
}

// candidate says which units must go to give a node to the pod, for one version of the plan.
type candidate struct {
	set  []int
	cost victims.Cost
	// short is what the pod lacks while the set is there.
	short ledger.Amounts
	// asked says that the search was made. inadmissible says that there is no right set.
	asked, inadmissible bool
	version             int
}

func candidateOf(costs []victims.Unit, set []int, ok bool, version int) candidate {
	return candidate{set: set, cost: victims.CostOf(costs, set), asked: true, inadmissible: !ok, version: version}
}

// placesOf returns the possible places for the pods of the task's role. PrePredicate of the task must have run.
func (a *preemptor) placesOf(task *api.TaskInfo, pod *demand.Pod) *places {
	role := a.Solver.roles.of(task, pod)
	if known := a.roles[role]; known != nil {
		return known
	}
	all := a.Session.FilterOutUnschedulableAndUnresolvableNodesForTask(task)
	suits := make([]bool, len(all))
	a.spend(len(all))
	a.filtering = true // attempts look for devices
	workqueue.ParallelizeUntil(context.Background(), filterWorkers, len(all), func(i int) {
		suits[i] = InShard(a.Session, all[i]) && !a.Avoids(a.job, all[i]) && a.Session.PredicateForPreemptAction(task, all[i]) == nil
	})
	a.filtering = false
	found := &places{}
	for i, node := range all {
		if suits[i] {
			found.nodes = append(found.nodes, node)
		}
	}
	slices.SortFunc(found.nodes, func(a, b *api.NodeInfo) int { return strings.Compare(a.Name, b.Name) })
	found.candidates = make([]candidate, len(found.nodes))
	if a.roles == nil {
		a.roles = map[string]*places{}
	}
	a.roles[role] = found
	return found
}

// cheapest returns the place with the cheapest candidate, -1 if all are inadmissible.
func (p *places) cheapest() int {
	best := -1
	for i := range p.candidates {
		if !p.candidates[i].inadmissible && (best < 0 || p.candidates[i].cost.Compare(p.candidates[best].cost) < 0) {
			best = i
		}
	}
	return best
}

// none reports whether it is known that there is no place.
func (p *places) none() bool {
	for i := range p.candidates {
		if !p.candidates[i].asked || !p.candidates[i].inadmissible {
			return false
		}
	}
	return true
}

// InShard reports whether the scheduler may use a node.
func InShard(ssn *framework.Session, node *api.NodeInfo) bool {
	hard := options.ServerOpts != nil && options.ServerOpts.ShardingMode == volcanoutil.HardShardingMode
	return !hard || ssn.NodesInShard.Has(node.Name)
}
