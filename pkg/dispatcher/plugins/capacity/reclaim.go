// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

const (
	// maxCandidates bounds the workloads that victims of one workload are chosen from: the cheapest ones.
	maxCandidates = 32
	// maxTries bounds the sets of victims that are tried for one workload.
	maxTries = 64
	// effortOfQueue bounds the sets that are tried for the workloads of one queue in one session, effortOfAll those for all
	// queues. The next session goes on.
	effortOfQueue = 160
	effortOfAll   = 1600
	// chargesPerEffort is how many charges are looked at in the time that a set needs.
	chargesPerEffort = 64
	// maxHopeless bounds the questions that are remembered for each queue.
	maxHopeless = 16
)

// reclaim finds victims for workloads whose queues have less than they deserve. Victims are whole workloads.
type reclaim struct {
	*plugin
	priority func(*framework.Workload) int32
	// leaving are the workloads whose grants end without anybody's doing, and the victims of this session.
	leaving []*framework.Workload
	// promised is what leaves for the workloads that asked before, so that nobody counts on it twice.
	promised []promise
	hopeless map[string][]question
	// base is the ledger when all that is leaving is gone, and when what was promised is charged. It is nil if it must be
	// made anew. baseOf is how many changes there had been.
	base   *ledger.Ledger
	baseOf int
	// effort is what was spent for each queue, spent what was spent for all.
	effort map[string]int
	spent  int
}

type promise struct {
	queue ledger.QueueID
	asked ledger.Amounts
}

// question is what a workload asked for when nobody could be found, and how many changes there had been.
type question struct {
	asked   ledger.Amounts
	changes int
}

// asker is a workload that asks for victims.
type asker struct {
	*reclaim
	workload *framework.Workload
	queue    ledger.QueueID
	// asked is what it asks for, short is the part of it for which there is no room even when all that leaves is gone.
	asked, short ledger.Amounts
	units        []*framework.Workload
	costs        []victims.Unit
	name         string
}

// newReclaim begins a session.
func newReclaim(p *plugin) reclaim {
	r := reclaim{plugin: p, priority: p.session.Priorities(), hopeless: map[string][]question{}, effort: map[string]int{}}
	for _, w := range p.session.Workloads {
		if isLeaving(w) && p.books.charges[w] != nil {
			r.leaving = append(r.leaving, w)
		}
	}
	return r
}

// victims returns the workloads that must go so that a workload that was refused fits, nil if there are none that may, or
// if those that are leaving already are enough.
func (r *reclaim) victims(w *framework.Workload) []*framework.Workload {
	state := r.plugin.queue(w.Queue)
	if w.Err != nil || state.refusal != nil || r.refuseUnlisted(w, state.id) != nil {
		return nil
	}
	a := &asker{reclaim: r, workload: w, queue: state.id, asked: r.limited(w, r.books.asks(w, state.id, w.Needs.All)), name: w.Queue}
	q := question{a.asked, r.books.changes + len(r.promised)}
	if r.effort[w.Queue] >= effortOfQueue || r.spent >= effortOfAll || r.isHopeless(w.Queue, q) {
		return nil
	}
	a.findShort()
	if len(a.short) == 0 {
		r.promise(a)
		return nil
	}
	chosen := a.choose()
	if len(chosen) == 0 {
		if len(r.hopeless[w.Queue]) < maxHopeless {
			r.hopeless[w.Queue] = append(r.hopeless[w.Queue], q)
		}
		return nil
	}
	r.leaving = append(r.leaving, chosen...)
	r.promise(a)
	return chosen
}

func (r *reclaim) isHopeless(queue string, q question) bool {
	return slices.ContainsFunc(r.hopeless[queue], func(known question) bool {
		return known.changes == q.changes && slices.Equal(known.asked, q.asked)
	})
}

// promise keeps what leaves for a workload.
func (r *reclaim) promise(a *asker) {
	r.promised, r.base = append(r.promised, promise{a.queue, a.asked}), nil
}

func isLeaving(w *framework.Workload) bool {
	return w.Returns() || w.State.Deleting && w.Lost == "" // what is lost stays until somebody deletes it
}

// without returns the books when some workloads, and all that are leaving, are gone, and when those that asked before
// have what was promised to them.
func (a *asker) without(set []*framework.Workload) *ledger.Ledger {
	a.spend(1)
	if slices.ContainsFunc(set, func(w *framework.Workload) bool { return a.books.charges[w].group != nil }) {
		return a.keep(a.books.without(a.leaving, set))
	}
	if a.base == nil || a.baseOf != a.books.changes {
		a.base, a.baseOf = a.keep(a.books.without(a.leaving)), a.books.changes
	}
	view := a.base.View()
	for _, w := range set {
		_ = view.Release(a.books.charges[w].part, a.books.charges[w].holder) // it is charged
	}
	return view
}

func (a *asker) spend(effort int) {
	a.effort[a.name] += effort
	a.spent += effort
}

// keep charges what was promised.
func (a *asker) keep(view *ledger.Ledger) *ledger.Ledger {
	for _, p := range a.promised {
		_ = view.Charge(p.queue, "promised", ledger.Demand{ledger.NewPart(p.asked)}) // what overflows fits nowhere
	}
	return view
}

// findShort finds the dimensions for which there is no room.
func (a *asker) findShort() {
	view := a.without(nil)
	for _, e := range a.asked {
		if refused, err := view.FitsInqueue(a.queue, ledger.Amounts{e}); refused != nil || err != nil {
			a.short = append(a.short, e)
		}
	}
}

// choose returns the cheapest victims, nil if there are none.
func (a *asker) choose() []*framework.Workload {
	a.findUnits()
	if len(a.units) == 0 {
		return nil
	}
	set := func(chosen []int) []*framework.Workload {
		list := make([]*framework.Workload, len(chosen))
		for i, c := range chosen {
			list[i] = a.units[c]
		}
		return list
	}
	chosen, found := victims.Choose(a.costs,
		func(chosen []int) bool { return len(chosen) == 1 || a.allowed(set(chosen)) }, // each alone is allowed
		func(chosen []int) bool { return a.enough(set(chosen)) }, maxTries)
	if !found {
		return nil
	}
	return set(chosen)
}

// enough reports whether the asker fits when some workloads are gone.
func (a *asker) enough(set []*framework.Workload) bool {
	refused, err := a.without(set).FitsInqueue(a.queue, a.asked)
	return refused == nil && err == nil
}

// allowed reports whether the asker has a right to take each of some workloads.
func (a *asker) allowed(set []*framework.Workload) bool {
	view := a.without(set)
	return !slices.ContainsFunc(set, func(w *framework.Workload) bool {
		c := a.books.charges[w]
		return !view.MayEvict(a.queue, c.amounts, a.short, c.queue)
	})
}
