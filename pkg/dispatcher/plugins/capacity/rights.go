// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

// findUnits finds the workloads that may go, the cheapest if there are many.
func (a *asker) findUnits() {
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

// mayGo reports whether a workload may be a victim, whatever it frees.
func (a *asker) mayGo(w *framework.Workload, c *charge) bool {
	state := a.plugin.queue(w.Queue)
	return w.State.Grant != nil && c.queue != a.queue && state.mayLose && !slices.Contains(a.leaving, w)
}

// frees reports whether a workload frees something of what is short, and the asker may take that back. It is the part of
// justified that needs no view of its own.
func (a *asker) frees(books *ledger.Ledger, c *charge) bool {
	return slices.ContainsFunc(a.short, func(e ledger.Entry) bool {
		return c.amounts.Of(e.Dimension).Sign() > 0 && books.MayTakeBack(a.queue, c.queue, e.Dimension, e.Amount)
	})
}

func (a *asker) cost(books *ledger.Ledger, w *framework.Workload, c *charge) victims.Unit {
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

// justified reports whether the asker may take a workload, given the books without all victims: of something that is
// short, and that the workload frees, the asker has a right to as much as it asks for, and the queue of the workload keeps
// what it deserves. That must hold for all cards and devices among it that anybody deserves, as in the scheduler. Only
// cpu and the like go along with devices and cards to which the asker has a right.
func (a *asker) justified(books *ledger.Ledger, c *charge) bool {
	helps, devices := false, false
	for _, e := range a.short {
		if c.amounts.Of(e.Dimension).Sign() <= 0 {
			continue
		}
		right := books.MayTakeBack(a.queue, c.queue, e.Dimension, e.Amount) && books.KeepsTarget(c.queue, a.queue, e.Dimension)
		switch isDevice := a.isDevice(e); {
		case right:
			helps, devices = true, devices || isDevice
		case isDevice && a.isDeserved(books, c, e):
			return false
		}
	}
	if !helps || !books.KeepsGuarantees(c.queue, a.queue, c.amounts) {
		return false
	}
	return devices || !slices.ContainsFunc(a.short, func(e ledger.Entry) bool {
		return c.amounts.Of(e.Dimension).Sign() > 0 && !books.KeepsTarget(c.queue, a.queue, e.Dimension)
	})
}

// isDeserved reports whether it is settled who deserves how many of some cards or devices.
func (a *asker) isDeserved(books *ledger.Ledger, c *charge, e ledger.Entry) bool {
	top, _ := books.Branches(a.queue, c.queue)
	return books.Target(top, e.Dimension).Set
}
