// SPDX-License-Identifier: Apache-2.0

package victims

// Choose returns the units to evict, as indexes in ascending order. The set is allowed and enough, and every unit in it is
// necessary. Choose returns false if it finds no set.
//
// allowed reports whether a set violates no right. Each subset of an allowed set must be allowed.
//
// enough reports whether the preemptor gets everything it needs if a set is gone. Each superset of a sufficient set must be
// sufficient. Choose also calls enough for sets that are not allowed. If the result is false, it tries no subset. If enough
// cannot decide such a set, it should return true.
//
// Both functions get indexes in ascending order, and must not change or keep them.
//
// Choose makes a greedy choice, and then searches for the cheapest set, see [Cost.Compare]. The search stops after about budget
// calls of enough. If the search completes, the set is the cheapest, and false means that no set exists. If it stops early,
// Choose returns the greedy choice, which is cheap but not always the cheapest. Then false can also mean that rights kept
// Choose from finding a set. The greedy choice ignores the budget. It calls enough about log2(len(units)) times per victim.
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
