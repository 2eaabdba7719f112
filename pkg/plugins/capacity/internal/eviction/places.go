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
	found := &places{}
	for _, node := range a.suitableFor(role, task) {
		if a.domain.Has(node.Name) {
			found.nodes = append(found.nodes, node)
		}
	}
	found.candidates = make([]candidate, len(found.nodes))
	if a.roles == nil {
		a.roles = map[string]*places{}
	}
	a.roles[role] = found
	return found
}

// suitableFor returns the nodes that suit the pods of the task's role, by name.
func (a *preemptor) suitableFor(role string, task *api.TaskInfo) []*api.NodeInfo {
	if known, found := a.suitable[role]; found {
		return known
	}
	all := a.Session.FilterOutUnschedulableAndUnresolvableNodesForTask(task)
	if a.filters -= len(all); a.filters < 0 {
		a.unfinished = true
		return nil
	}
	suits := make([]bool, len(all))
	a.spent += len(all)
	if a.domain.Nodes == nil {
		a.effort -= len(all)
	}
	a.filtering = true // attempts look for devices
	workqueue.ParallelizeUntil(context.Background(), filterWorkers, len(all), func(i int) {
		suits[i] = InShard(a.Session, all[i]) && !a.Avoids(a.job, all[i]) && a.Session.PredicateForPreemptAction(task, all[i]) == nil
	})
	a.filtering = false
	var suitable []*api.NodeInfo
	for i, node := range all {
		if suits[i] {
			suitable = append(suitable, node)
		}
	}
	slices.SortFunc(suitable, func(a, b *api.NodeInfo) int { return strings.Compare(a.Name, b.Name) })
	a.suitable[role] = suitable
	return suitable
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

// cheapest returns the place with the cheapest valid candidate, -1 if there is none.
func (p *planning) cheapest(places *places, task *api.TaskInfo, pod *demand.Pod) int {
	for i := range places.candidates {
		switch candidate := &places.candidates[i]; {
		case candidate.asked:
		case p.exhausted():
			*candidate = candidateOf(p.costs, nil, false, p.version) // another place must do
		default:
			*candidate = p.estimate(task, pod, places.nodes[i])
		}
	}
	for {
		i := places.cheapest()
		if i < 0 || places.candidates[i].version == p.version {
			return i
		}
		p.evaluate(&places.candidates[i], task, pod, places.nodes[i])
	}
}

// estimate returns the minimum cost of a place, to save most searches. It is as good as a candidate of an earlier version: if it is the
// cheapest, the search is made again.
func (p *planning) estimate(task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) candidate {
	q := p.ask(task, pod, node)
	if q.enough(nil) {
		return candidateOf(p.costs, nil, true, p.version)
	}
	if q.findShort(); len(q.quotaShort) > 0 {
		set, ok := q.search() // units elsewhere may be cheaper
		found := candidateOf(p.costs, set, ok, p.version)
		found.short = q.short
		return found
	}
	least := -1
	for _, i := range p.on[node.Name] {
		if !p.all[i].evicted && (least < 0 || victims.CompareUnits(&p.costs[i], &p.costs[least]) < 0) {
			least = i
		}
	}
	if least < 0 {
		return candidateOf(p.costs, nil, false, p.version)
	}
	return candidateOf(p.costs, []int{least}, true, p.version-1)
}

func (p *planning) evaluate(candidate *candidate, task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) {
	set, short, ok := p.answer(task, pod, node)
	*candidate = candidateOf(p.costs, set, ok, p.version)
	candidate.short = short
}
