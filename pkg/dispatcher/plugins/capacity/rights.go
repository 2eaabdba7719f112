// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

// findUnits finds the candidates for victims. If there are many, it keeps the cheapest.
func (a *preemptor) findUnits() {
	alone := a.without(nil)
	a.spend(len(a.books.charges) / chargesPerEffort)
	type candidate struct {
		workload *framework.Workload
		cost     victims.Unit
	}
	var found []candidate
	for w, c := range a.books.charges {
		if a.mayGo(w, c) && a.frees(alone, c) {
			found = append(found, candidate{w, a.cost(alone, w, c)})
		}
	}
	slices.SortFunc(found, func(x, y candidate) int { return victims.CompareUnits(&x.cost, &y.cost) })
	for _, f := range found {
		if len(a.units) == maxCandidates {
			return
		}
		if a.allowed([]*framework.Workload{f.workload}) {
			a.units, a.costs = append(a.units, f.workload), append(a.costs, f.cost)
		}
	}
}

// mayGo reports whether a workload may be a victim, regardless of what it frees.
func (a *preemptor) mayGo(w *framework.Workload, c *charge) bool {
	state := a.plugin.queue(w.Queue)
	_, leaves := w.LeavesAll()
	return w.State.Grant != nil && c.queue != a.queue && state.mayLose && !a.chosen[w] && !leaves && !a.isAway(w)
}

// frees reports whether a workload frees an amount that is short and that the preemptor may reclaim. It is the part of allowed that
// needs no view of its own.
func (a *preemptor) frees(books *ledger.Ledger, c *charge) bool {
	return slices.ContainsFunc(a.short, func(e ledger.Entry) bool {
		return c.amounts.Of(e.Dimension).Sign() > 0 && books.MayTakeBack(a.queue, c.queue, e.Dimension, e.Amount)
	})
}

func (a *preemptor) cost(books *ledger.Ledger, w *framework.Workload, c *charge) victims.Unit {
	u := victims.Unit{
		Priority: a.priority(w), Closeness: books.CommonDepth(c.queue, a.queue), Created: w.Created.UnixNano(), Name: w.Name(), Pods: 1,
	}
	if w.Template != nil {
		for _, set := range w.Template.Pods {
			u.Pods += int(set.Count)
		}
	}
	for _, e := range a.short {
		if c.amounts.Of(e.Dimension).Sign() > 0 {
			u.Excess = max(u.Excess, books.Excess(c.queue, e.Dimension))
		}
	}
	return u
}
