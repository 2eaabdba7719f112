// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"slices"
	"sort"
)

// greedy chooses cheap units before expensive ones. Its result is allowed, enough and minimal, but not always the cheapest.
type greedy struct {
	*problem
	// retries is the number of times that greedy may still replace a unit that led nowhere. This happens only if rights stand in the way.
	retries int
	// budget is the number of calls of enough after which retries end.
	budget int
}

// greedyRetries bounds the greedy choice if there may be no result.
const greedyRetries = 16

func newGreedy(p *problem, budget int) *greedy {
	return &greedy{problem: p, retries: greedyRetries, budget: budget}
}

// run returns the chosen set, or nil if it finds none.
func (g *greedy) run(barred set) set {
	result := g.complete(newSet(len(g.units)), barred)
	if result == nil {
		return nil
	}
	return g.shrink(result)
}

// complete adds units until the set is enough. It returns nil if this is impossible or no retries are left.
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

// decisive adds the cheapest other units to a set until it is enough, and returns the last unit added, or -1 if the set never is
// enough. It uses only units that are allowed with the set. A unit that does not help is never decisive, so it uses up no right.
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

// shrink removes unnecessary units, most expensive first. Earlier answers cover most of its questions.
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
