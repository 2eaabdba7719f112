// SPDX-License-Identifier: Apache-2.0

package victims

// Choose returns the units to evict, as indexes in ascending order: a set that is allowed and enough, of which no unit
// could stay. It returns false if it finds none.
//
// Allowed reports whether a set breaks nobody's right. A subset of an allowed set must be allowed, the empty set included.
// Enough reports whether the preemptor gets all it needs if a set is gone. A superset of a set that is enough must be
// enough. Enough is also asked about sets that are not allowed: if it is false there, no subset is tried. If this cannot
// be told for a set that is not allowed, true is the safe answer. Both get indexes in ascending order and must not
// change them.
//
// Choose looks for the set that costs least, see [Cost.Compare], until it has asked enough as often as the budget says. If the budget
// lasts, the set is the cheapest that there is, and false means that there is none. After that, Choose takes the set
// that a greedy choice finds. It asks enough about log2(len(units)) times for each victim beyond the budget. If rights
// stand in the way, it may then miss a set.
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
	result, found, exhausted := newSearch(p, barred, budget).run()
	if !found && !exhausted {
		result, found = p.greedy(barred)
	}
	if !found {
		return nil, false
	}
	return p.indexes(result), true
}
