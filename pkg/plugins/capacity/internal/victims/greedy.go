// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"slices"
	"sort"
)

// greedy returns a set that is allowed, enough, and minimal, and takes cheap units before dear ones. It finds a set
// whenever the units that are allowed one after the other, from the cheapest to the dearest, are enough.
func (p *problem) greedy(barred set) (set, bool) {
	if result, found := p.descend(barred); found {
		return result, true
	}
	chain, none := newSet(len(p.units)), newSet(len(p.units))
	for _, rank := range p.byCost(none, barred) {
		if next := chain.with(rank); p.isAllowed(next) {
			chain = next
		} else {
			barred = barred.with(rank)
		}
	}
	if !p.isEnough(chain) {
		return nil, false
	}
	return p.descend(barred)
}

// descend adds one unit after the other: the unit that turns the cheapest units, taken together, into enough. A unit that
// does not help is therefore never added, and uses up no right. It fails if what is still allowed is not enough.
func (p *problem) descend(barred set) (set, bool) {
	result := newSet(len(p.units))
	for !p.isEnough(result) {
		candidates := slices.DeleteFunc(p.byCost(result, barred), func(rank int) bool {
			if p.isAllowed(result.with(rank)) {
				return false
			}
			barred = barred.with(rank)
			return true
		})
		prefixes := []set{result}
		for i, rank := range candidates {
			prefixes = append(prefixes, prefixes[i].with(rank))
		}
		shortest := sort.Search(len(prefixes), func(i int) bool { return p.isEnough(prefixes[i]) })
		if shortest == len(prefixes) {
			return nil, false
		}
		result = result.with(candidates[shortest-1])
	}
	return p.shrink(result), true
}

// shrink takes back the units that could stay, the dearest first. Most answers are known from before.
func (p *problem) shrink(s set) set {
	ranks := slices.SortedFunc(s.ranks(), func(l, r int) int {
		return CompareUnits(&p.units[p.index[r]], &p.units[p.index[l]])
	})
	for _, rank := range ranks {
		if rest := s.without(rank); p.isEnough(rest) {
			s = rest
		}
	}
	return s
}
