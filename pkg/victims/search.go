// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"container/heap"
	"sort"
)

// search finds the cheapest set that is allowed and enough. It looks at sets in the order of their cost, so the first one
// that is enough is the cheapest.
//
// Two things keep it from looking at all sets. If a set is known not to be enough, then every result contains a unit
// outside it: only these units are added to subsets of it. And several of the next sets are tried at once: if even their
// union is not enough, none of them is, and the union is a large set that is known not to be enough.
type search struct {
	*problem
	// best is the cheapest set that has been found, nil if none has. Only cheaper ones are looked for.
	best     set
	bestCost Cost
	branches branches
	// budget ends the search when enough has been asked as often, or when steps, the number of branches looked at, is
	// too large for it.
	budget, steps int
	// tried is the last set that was not enough. What comes next is tried together with it.
	tried set
	// width is how many sets are tried at once.
	width int
	// alone is how many sets are tried alone before several are tried at once again. It is set to penalty when trying
	// several at once was in vain. Penalty doubles each time.
	alone, penalty int
}

// branch stands for the sets that contain its base and nothing that it bars.
type branch struct {
	base, barred set
	// next is a unit that the cheapest set of the branch adds to the base, which is not enough. It is -1 if
	// it is not known whether the base is enough.
	next int
	// cost is that of the base with next. No result in the branch costs less.
	cost Cost
}

// stepsPerCall is how many branches the search may look at for each call of enough that it may make, besides some for each
// unit: branches that need no call take time, too.
const (
	stepsPerCall = 8
	stepsPerUnit = 4
)

// newSearch returns the search for what is cheaper than the best set, which is nil if none has been found.
func newSearch(p *problem, barred, best set, budget int) *search {
	none := newSet(len(p.units))
	s := &search{
		problem: p, best: best, bestCost: p.cost(best), budget: budget, steps: -stepsPerUnit * len(p.units),
		tried: none, width: 1, penalty: 1,
	}
	s.extend(none, barred)
	return s
}

// run searches until nothing cheaper is left, or until the budget is spent. It returns the best set.
func (s *search) run() set {
	for !s.spent() {
		batch := s.take()
		if len(batch) == 0 {
			break
		}
		if s.try(batch) {
			return batch[0].base
		}
	}
	return s.best
}

func (s *search) spent() bool { return s.asked >= s.budget || s.steps/stepsPerCall >= s.budget }

// take removes the next branches whose bases are to be tried.
func (s *search) take() (batch []*branch) {
	for ; len(s.branches) > 0 && len(batch) < s.width && !s.spent(); s.steps++ {
		b := heap.Pop(&s.branches).(*branch)
		switch {
		case b.next >= 0:
			s.split(b)
		case s.knownShort(b.base):
			s.extend(b.base, b.barred)
		default:
			batch = append(batch, b)
		}
	}
	return batch
}

// split divides a branch into the sets with the next unit and those without it.
func (s *search) split(b *branch) {
	if s.outside(b.base, b.barred).has(b.next) {
		// A larger set is known by now not to be enough.
		s.extend(b.base, b.barred)
		return
	}
	if with := b.base.with(b.next); s.isAllowed(with) {
		heap.Push(&s.branches, &branch{base: with, barred: b.barred, next: -1, cost: b.cost})
	}
	s.extend(b.base, b.barred.with(b.next))
}

// extend pushes the branch of a base that is known not to be enough, unless nothing that is cheaper than the best set is left.
func (s *search) extend(base, barred set) {
	next := s.cheapest(base, s.outside(base, barred))
	if next < 0 {
		return
	}
	cost := s.cost(base.with(next))
	if s.best == nil || cost.Compare(s.bestCost) < 0 {
		heap.Push(&s.branches, &branch{base: base, barred: barred, next: next, cost: cost})
	}
}

// outside returns the units that need not be added to a base that is not enough: those that are barred, and those
// that are not enough together with the base. Of the sets known not to be enough, it takes the one that leaves
// fewest units.
func (s *search) outside(base, barred set) set {
	var largest set
	most := -1
	for _, short := range s.short {
		if base.within(short) {
			if count := short.countUnion(barred); count > most {
				largest, most = short, count
			}
		}
	}
	return barred.union(largest)
}

// try finds out about a batch, and reports whether it has one base only, which is enough. Bases that are not enough are
// extended. Those that may be enough are put back.
func (s *search) try(batch []*branch) bool {
	union := s.tried
	if s.alone > 0 {
		union = newSet(len(s.units))
	}
	unions := []set{union}
	for i, b := range batch {
		unions = append(unions, unions[i].union(b.base))
	}
	short := len(batch)
	if s.isEnough(unions[short]) {
		short = sort.Search(short, func(i int) bool { return s.isEnough(unions[i]) }) - 1
	}
	if short == 0 && len(batch) == 1 && unions[1].within(batch[0].base) {
		return true
	}
	s.tried = unions[short]
	for _, b := range batch[:short] {
		s.extend(b.base, b.barred)
	}
	for _, b := range batch[short:] {
		heap.Push(&s.branches, b)
	}
	s.adapt(short, len(batch))
	return false
}

// adapt decides how many bases are tried at once, from how many of the last ones were found not to be enough.
func (s *search) adapt(short, tried int) {
	switch {
	case s.alone > 0:
		s.alone--
		return
	case short == tried:
		s.width *= 2
		return
	case short == 0:
		s.penalty *= 2
	default:
		s.penalty = 1
	}
	s.width, s.alone = 1, s.penalty
}

// branches is a heap. The cheapest branch comes first.
type branches []*branch

func (b branches) Len() int           { return len(b) }
func (b branches) Less(i, j int) bool { return b[i].cost.Compare(b[j].cost) < 0 }
func (b branches) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *branches) Push(x any)        { *b = append(*b, x.(*branch)) }

func (b *branches) Pop() any {
	last := len(*b) - 1
	popped := (*b)[last]
	*b = (*b)[:last]
	return popped
}
