// SPDX-License-Identifier: Apache-2.0

package victims

// Choose returns the units to evict, as indexes in ascending order: a set that is allowed and enough, of which no unit
// could stay. It returns false if it finds none.
//
// Allowed reports whether a set breaks nobody's right. Each subset of an allowed set must be allowed.
//
// Enough reports whether the preemptor gets all it needs if a set is gone. Each superset of a set that is enough must be
// enough. Choose asks enough about sets that are not allowed, too. If the answer is false there, it tries no subset. If
// the answer cannot be known there, true is the safe one.
//
// Both get indexes in ascending order, and must not change or keep them.
//
// Choose makes a greedy choice, and then searches for the set that costs least, see [Cost.Compare], until it has asked
// enough about as often as the budget says. If the search gets to its end, the set is the cheapest of all, and false means that
// there is none. Otherwise, the set is that of the greedy choice, which costs little but not always least, and false can
// also mean that rights kept Choose from finding a set. Whatever the budget, the greedy choice is made: it asks enough about
// log2(len(units)) times for each victim.
//
// The result does not depend on the order of the units.
func Choose(units []Unit, allowed, enough func([]int) bool, budget int) ([]int, bool) {
	p := newProblem(units, allowed, enough)
	none := newSet(len(units))
	if p.isEnough(none) {
		return []int{}, true
	}
	barred, candidates := none, none
	for rank := range units {
		if alone := none.with(rank); p.isAllowed(alone) {
			candidates = candidates.with(rank)
		} else {
			barred = barred.with(rank)
		}
	}
	if !p.isEnough(candidates) {
		return nil, false
	}
	if first := none.with(p.cheapest(none, barred)); p.isEnough(first) {
		return p.indexes(first), true
	}
	result := newSearch(p, barred, newGreedy(p, budget).run(barred), budget).run()
	return p.indexes(result), result != nil
}
