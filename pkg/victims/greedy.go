// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"slices"
	"sort"
)

// greedy is the choice of cheap units before dear ones. What it finds is allowed, enough, and minimal, but not always the
// cheapest.
type greedy struct {
	*problem
	// retries is how often another unit may still be tried in place of one that led nowhere. That happens only
	// where rights stand in the way.
	retries int
	// budget ends the retries when enough has been asked as often.
	budget int
}

// greedyRetries keeps the greedy choice short where nothing may be found.
const greedyRetries = 16

func newGreedy(p *problem, budget int) *greedy {
	return &greedy{problem: p, retries: greedyRetries, budget: budget}
}

// run returns nil if it finds no set.
func (g *greedy) run(barred set) set {
	result := g.complete(newSet(len(g.units)), barred)
	if result == nil {
		return nil
	}
	return g.shrink(result)
}

// complete adds units until the set is enough. It returns nil if that is not possible, or if it may not retry any more.
func (g *greedy) complete(s, barred set) set {
	if g.isEnough(s) {
		return s
	}
	for {
		rank := g.decisive(s, barred)
		if rank < 0 {
			return nil
		}
		if result := g.complete(s.with(rank), barred); result != nil {
			return result
		}
		if g.retries == 0 || g.asked >= g.budget {
			return nil
		}
		g.retries--
		barred = barred.with(rank)
	}
}

// decisive returns the unit that turns a set and the cheapest other units, taken together, into enough, or -1 if there
// is none. Only units that may go with the set count. A unit that does not help is never decisive, so it uses up no right.
func (g *greedy) decisive(s, barred set) int {
	candidates := slices.DeleteFunc(g.byCost(s, barred), func(rank int) bool { return !g.isAllowed(s.with(rank)) })
	unions := []set{s}
	for i, rank := range candidates {
		unions = append(unions, unions[i].with(rank))
	}
	shortest := sort.Search(len(unions), func(i int) bool { return g.isEnough(unions[i]) })
	if shortest == len(unions) {
		return -1
	}
	return candidates[shortest-1]
}

// shrink takes back the units that could stay, the dearest first. Most answers are known from before.
func (g *greedy) shrink(s set) set {
	ranks := slices.SortedFunc(s.ranks(), func(l, r int) int {
		return CompareUnits(&g.units[g.index[r]], &g.units[g.index[l]])
	})
	for _, rank := range ranks {
		if rest := s.without(rank); g.isEnough(rest) {
			s = rest
		}
	}
	return s
}
