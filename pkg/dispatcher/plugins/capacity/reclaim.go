// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

const (
	// maxCandidates bounds the candidates for victims of one workload. The cheapest ones are candidates.
	maxCandidates = 32
	// maxTries bounds the sets of victims that are tried for one workload.
	maxTries = 64
	// effortOfQueue bounds the sets that are tried for one queue in a session. EffortOfAll bounds the sets for all queues. The
	// next session continues.
	effortOfQueue = 160
	effortOfAll   = 1600
	// chargesPerEffort is the number of charges that cost as much time as one set.
	chargesPerEffort = 64
	// maxInadmissible bounds the remembered attempts of each queue.
	maxInadmissible = 16
)

// reclaim finds victims for workloads whose queues have less than they deserve. Victims are whole workloads.
type reclaim struct {
	*plugin
	priority func(*framework.Workload) int32
	// leaving are the workloads whose grants end soon, and the victims of this session. Chosen has these victims.
	leaving []*framework.Workload
	chosen  map[*framework.Workload]bool
	// promised is the leaving room that earlier preemptors get. It prevents that two preemptors count on the same room.
	promised     []promise
	inadmissible map[string][]attempt
	// base is the ledger without leaving workloads, and with the promises charged. It is nil if it must be rebuilt. BaseOf is the
	// number of changes at the time it was built.
	base   *ledger.Ledger
	baseOf int
	// effort is the effort for each queue, spent the effort for all queues.
	effort map[string]int
	spent  int
	// lateBegun is for how many of the queues that come first some sets were tried.
	lateBegun int
}

type promise struct {
	queue ledger.QueueID
	asked ledger.Amounts
}

// attempt is a request for which no victims were found, and the number of changes at that time.
type attempt struct {
	asked   ledger.Amounts
	changes int
}

// preemptor is a workload that asks for victims.
type preemptor struct {
	*reclaim
	workload *framework.Workload
	queue    ledger.QueueID
	// asked is what it asks for. Short is the part of it without room even when all leaving workloads are gone.
	asked, short ledger.Amounts
	units        []*framework.Workload
	costs        []victims.Unit
	name         string
}

// newReclaim begins a session.
func newReclaim(p *plugin) reclaim {
	r := reclaim{
		plugin: p, priority: p.session.Priorities(), chosen: map[*framework.Workload]bool{}, inadmissible: map[string][]attempt{}, effort: map[string]int{},
	}
	for _, w := range p.session.Workloads {
		until, leaves := w.LeavesAll()
		if leaves && (until.IsZero() || until.After(p.session.Now)) && p.books.charges[w] != nil && !p.isAway(w) {
			r.leaving = append(r.leaving, w)
		}
	}
	return r
}

// victims returns the workloads that must go to make room for a refused workload. It returns nil if no workloads may go, or if
// the leaving ones are enough.
func (r *reclaim) victims(w *framework.Workload) []*framework.Workload {
	state := r.plugin.queue(w.Queue)
	if w.Err != nil || state.refusal != nil || r.refuseUnlisted(w, state.id) != nil || r.refuseUnnamed(w, state.id) != nil {
		return nil
	}
	a := &preemptor{reclaim: r, workload: w, queue: state.id, asked: r.limited(w, r.books.asks(w, state.id, w.Needs.All)), name: w.Queue}
	q := attempt{a.asked, r.books.changes + len(r.promised)}
	if r.session.Search.WasInVain(w) || r.isInadmissible(w.Queue, q) {
		return nil
	}
	if !r.hasTurn(w.Queue) {
		r.session.Search.GoesOn(w.Queue, r.effort[w.Queue] > 0)
		return nil
	}
	a.findShort()
	if len(a.short) == 0 {
		r.promise(a)
		return nil
	}
	chosen := a.choose()
	if len(chosen) == 0 {
		r.session.Search.InVain(w)
		if len(r.inadmissible[w.Queue]) < maxInadmissible {
			r.inadmissible[w.Queue] = append(r.inadmissible[w.Queue], q)
		}
		return nil
	}
	r.leaving = append(r.leaving, chosen...)
	for _, victim := range chosen {
		r.chosen[victim] = true
	}
	r.promise(a)
	return chosen
}

func (r *reclaim) isInadmissible(queue string, q attempt) bool {
	return slices.ContainsFunc(r.inadmissible[queue], func(known attempt) bool {
		return known.changes == q.changes && slices.Equal(known.asked, q.asked)
	})
}

// hasTurn reports whether sets may be tried for a queue in this session. Some effort is kept for the queues that come first.
func (r *reclaim) hasTurn(queue string) bool {
	left := effortOfAll - r.spent
	if !r.session.Search.IsLate(queue) {
		left -= effortOfQueue * (r.session.Search.Late() - r.lateBegun)
	}
	return r.effort[queue] < effortOfQueue && left > 0
}

// promise keeps leaving room for a workload.
func (r *reclaim) promise(a *preemptor) {
	r.promised, r.base = append(r.promised, promise{a.queue, a.asked}), nil
}

// isAway reports whether a workload may run in a cluster that cannot be reached. Nobody knows when such a cluster frees room.
func (p *plugin) isAway(w *framework.Workload) bool {
	return slices.ContainsFunc(w.Places, func(cluster string) bool { return p.session.NotReady[cluster] })
}

// without returns the ledger without some workloads and all leaving ones. The promises to earlier preemptors are charged.
func (a *preemptor) without(set []*framework.Workload) *ledger.Ledger {
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

func (a *preemptor) spend(effort int) {
	if a.effort[a.name] == 0 && a.session.Search.IsLate(a.name) {
		a.lateBegun++
	}
	a.effort[a.name] += effort
	a.spent += effort
}

// keep charges the promises.
func (a *preemptor) keep(view *ledger.Ledger) *ledger.Ledger {
	for _, p := range a.promised {
		_ = view.Charge(p.queue, "promised", ledger.Demand{ledger.NewPart(p.asked)}) // an amount that overflows fits nowhere
	}
	return view
}

// findShort finds the dimensions that have no room.
func (a *preemptor) findShort() {
	view := a.without(nil)
	for _, e := range a.asked {
		if refused, err := view.FitsInqueue(a.queue, ledger.Amounts{e}); refused != nil || err != nil {
			a.short = append(a.short, e)
		}
	}
}

// choose returns the cheapest victims, nil if there are none.
func (a *preemptor) choose() []*framework.Workload {
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
		func(chosen []int) bool { return len(chosen) == 1 || a.allowed(set(chosen)) }, // each victim alone is allowed
		func(chosen []int) bool { return a.enough(set(chosen)) }, maxTries)
	if !found {
		return nil
	}
	return set(chosen)
}

// enough reports whether the preemptor fits when some workloads are gone.
func (a *preemptor) enough(set []*framework.Workload) bool {
	refused, err := a.without(set).FitsInqueue(a.queue, a.asked)
	return refused == nil && err == nil
}

// allowed reports whether the preemptor has a right to reclaim each of some workloads.
func (a *preemptor) allowed(set []*framework.Workload) bool {
	view := a.without(set)
	return !slices.ContainsFunc(set, func(w *framework.Workload) bool {
		c := a.books.charges[w]
		return !view.MayEvict(a.queue, c.amounts, a.short, c.queue)
	})
}
