// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/victims"
)

// cheapestPlan returns the plan in the domain whose victims are the cheapest, nil if there is none.
func (a *preemptor) cheapestPlan(domains []hypernodes.Domain) *Plan {
	if len(domains) == 1 {
		return a.planIn(domains[0])
	}
	domains = a.LargeEnough(a.job, domains)
	best, least := -1, victims.Cost{}
	a.inShares(domains, func(i int) {
		plan := a.planIn(domains[i])
		if plan == nil {
			return
		}
		if cost := plan.planning.cost(); best < 0 || cost.Compare(least) < 0 {
			best, least = i, cost
		}
		plan.Discard()
	})
	if best < 0 {
		return nil
	}
	return a.planIn(domains[best])
}

// inShares tries something with each domain. Domains get shares of the effort for the job and of the replays by their sizes, so that the last ones are tried like
// the first. All of them share what is known about nodes.
func (a *preemptor) inShares(domains []hypernodes.Domain, try func(i int)) {
	nodes := 0
	for i := range domains {
		nodes += domains[i].Nodes.Len()
	}
	all, replays := a.effort+effortOfStep*(len(a.job.Tasks)-a.granted), a.replays
	a.granted = len(a.job.Tasks)
	for i := range domains {
		size := domains[i].Nodes.Len()
		a.effort, a.replays = all*size/max(1, nodes), replays*size/max(1, nodes)
		try(i)
	}
	a.effort, a.replays = all, replays
}

// Nearest returns the domain that could have the most waiting pods of a job as nodes and quotas are now, without evictions, and their number. It returns false
// if the job may use all nodes.
func (s *Solver) Nearest(job *api.JobInfo) (name string, pods int, found bool) {
	domains := hypernodes.Domains(s.Session, job)
	a := s.preemptorFor(Preempt, job)
	if a == nil || slices.ContainsFunc(domains, func(d hypernodes.Domain) bool { return d.Nodes == nil }) {
		return "", 0, false
	}
	a.begin()
	a.inShares(domains, func(i int) {
		a.domain, a.roles = domains[i], nil
		p := &planning{preemptor: a, changed: map[*api.TaskInfo]bool{}}
		p.placeInOrder(p.waiting(func(task *api.TaskInfo) bool { return !task.SchGated }))
		if len(p.steps) > pods {
			name, pods = domains[i].Name, len(p.steps)
		}
		p.discard()
		p.prepareAgain()
	})
	return name, pods, true
}

// cost returns the cost of all victims.
func (p *planning) cost() victims.Cost {
	var all []int
	for i := range p.steps {
		all = append(all, p.steps[i].set...)
	}
	return victims.CostOf(p.costs, all)
}
