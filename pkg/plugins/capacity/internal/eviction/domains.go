// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"cmp"
	"hash/maphash"

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
		cost := plan.planning.costFrom(0)
		if best < 0 || cmp.Or(cost.Compare(least), cmp.Compare(i, best)) < 0 {
			best, least = i, cost
		}
		plan.Discard()
	})
	if best < 0 {
		return nil
	}
	return a.planIn(domains[best])
}

// enter makes a domain the one that has the nodes that a plan may use.
func (a *preemptor) enter(domain hypernodes.Domain) { a.domain, a.roles = domain, nil }

// leastShare is the least share of the effort that a domain gets for each waiting pod of the job.
const leastShare = 100

// inShares tries something with each domain. Domains get shares of what is left of the effort for the job by their sizes, and never too little to place its pods.
// In thousands of domains, that may not be enough for all of them: each session begins with another one. All of them share what is known about nodes. More effort
// is granted for pods that get places, so that a large gang that fits nowhere takes no longer than a small one. An answer within a certain time needs no such limit.
func (a *preemptor) inShares(domains []hypernodes.Domain, try func(i int)) {
	nodes := 0
	for i := range domains {
		nodes += domains[i].Nodes.Len()
	}
	if a.expired != nil {
		a.effort += effortOfStep * (len(a.job.Tasks) - a.granted)
		a.granted = len(a.job.Tasks)
	}
	all, granted, replays, least := a.effort, a.granted, a.replays, leastShare*len(a.job.TaskStatusIndex[api.Pending])
	first := int(maphash.String(seed, string(a.Session.UID)) % uint64(max(1, len(domains))))
	left, others := all, nodes
	for n := range domains {
		i := (first + n) % len(domains)
		size := domains[i].Nodes.Len()
		share := min(left, max(left*size/others, least))
		a.effort, a.replays = share, replays*size/nodes
		try(i)
		left, others = max(0, left-share+a.effort), others-size
	}
	a.effort, a.replays = all+effortOfStep*(a.granted-granted), replays
}

// seed is for the hash of a session.
var seed = maphash.MakeSeed()

// costFrom returns the cost of all victims from a step on.
func (p *planning) costFrom(first int) victims.Cost {
	var all []int
	for i := range p.steps[first:] {
		all = append(all, p.steps[first+i].set...)
	}
	return victims.CostOf(p.costs, all)
}
