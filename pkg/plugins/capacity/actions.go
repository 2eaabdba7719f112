// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	upstream "volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/allocate"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// Actions returns the actions that replace upstream's actions of the same names. For jobs for which evictions are planned as a whole, preempt and reclaim follow
// the rules of package eviction. For the same jobs, allocate and backfill respect the room that was freed for them. For all other jobs, upstream's actions decide,
// with their arguments. Without this plugin in the configuration, the actions are upstream's.
func (p *Plugins) Actions() []framework.Action {
	return []framework.Action{
		&action{cache: p.cache, Action: upstream.New()},
		&action{cache: p.cache, Action: backfill.New()},
		&action{cache: p.cache, Action: preempt.New(), rule: eviction.Preempt},
		&action{cache: p.cache, Action: reclaim.New(), rule: eviction.Reclaim},
	}
}

// action is upstream's action, and what this plugin does before it.
type action struct {
	framework.Action
	cache *cache
	// rule is the right by which jobs evict pods. It is empty if they do not.
	rule eviction.Rule
	// searched has the pods for which upstream has looked for victims in vain, and which let others go first.
	searched map[api.TaskID]bool
}

// Execute implements framework.Action.
func (a *action) Execute(ssn *framework.Session) {
	p := a.cache.opened
	if p == nil || p.session != ssn {
		a.Action.Execute(ssn)
		return
	}
	p.nominations.Keep()
	switch {
	case a.Name() == "backfill":
		p.placements.Backfill(func() { a.Action.Execute(ssn) })
		return
	case a.rule == "":
		defer p.nominations.Trial.End()
		if p.arguments.Incremental {
			if shares := allocate.New(ssn, p.placements, p.nominations, a.Action, p.Name()); shares != nil {
				shares.Run()
				return
			}
		}
		a.Action.Execute(ssn)
		return
	}
	p.elastic.EvictFor(a.rule)
	p.searches = elastic.NewSearches(a.searched, len(ssn.Nodes))
	defer func() { a.searched, p.searches = p.searches.End(), nil }()
	a.Action.Execute(ssn)
}
