// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"container/heap"
	"sort"
)

// search finds the cheapest set that is allowed and enough. It looks at sets in the order of their cost, so the first one
// that is enough is the result.
//
// Two things keep it from looking at all sets. If a set is known not to be enough, then every result contains a unit
// outside it: only these units are added to subsets of it. And several of the next sets are tried at once: if even their
// union is not enough, none of them is, and the union is a large set that is known not to be enough.
type search struct {
	*problem
	// end is how many calls of enough there may be when the search ends. Steps is how many branches it may still look at:
	// those that cost no call take time, too.
	end, steps int
	branches   branches
	// tried is the last set that was not enough. What comes next is tried together with it.
	tried set
	// width is how many sets are tried at once.
	width int
	// alone is how many sets are tried alone before several are tried at once again. It is penalty after trying several
	// at once told nothing, and penalty doubles each time that it does so.
	alone, penalty int
}

// branch stands for all sets that contain its set and nothing that it bars.
type branch struct {
	set, barred set
	// next is -1 if it is not known whether the set is enough. If not, then the set is not enough, and next is the
	// cheapest unit to add.
	next int
	// cost is that of the set with next. Every result in the branch costs at least as much.
	cost Cost
}

// stepsPerCall is how many branches the search looks at for each call of enough that it may make.
const stepsPerCall = 32

func newSearch(p *problem, barred set, budget int) *search {
	s := &search{
		problem: p, end: p.asked + budget, steps: stepsPerCall*budget + 4*len(p.units),
		tried: newSet(len(p.units)), width: 1, penalty: 1,
	}
	s.extend(newSet(len(p.units)), barred)
	return s
}

// run returns the cheapest result. If there is none, it reports whether everything was searched.
func (s *search) run() (result set, found, exhausted bool) {
	for {
		batch, exhausted := s.take()
		switch {
		case len(batch) == 0:
			return nil, false, exhausted
		case s.asked >= s.end:
			return nil, false, false
		}
		if s.try(batch) {
			return batch[0].set, true, false
		}
	}
}

// take removes the next branches whose sets are to be tried. It also reports whether no branch is left.
func (s *search) take() (batch []*branch, exhausted bool) {
	for ; len(s.branches) > 0 && len(batch) < s.width; s.steps-- {
		if s.steps <= 0 {
			return nil, false
		}
		b := heap.Pop(&s.branches).(*branch)
		switch {
		case b.next >= 0:
			s.split(b)
		case s.knownShort(b.set):
			s.extend(b.set, b.barred)
		default:
			batch = append(batch, b)
		}
	}
	return batch, len(batch) == 0
}

// split divides a branch into the sets with the next unit and those without it.
func (s *search) split(b *branch) {
	if s.outside(b.set, b.barred).has(b.next) {
		// A larger set is known by now not to be enough.
		s.extend(b.set, b.barred)
		return
	}
	if with := b.set.with(b.next); s.isAllowed(with) {
		heap.Push(&s.branches, &branch{set: with, barred: b.barred, next: -1, cost: b.cost})
	}
	s.extend(b.set, b.barred.with(b.next))
}

// extend pushes the branch of a set that is known not to be enough, unless nothing is left to add.
func (s *search) extend(base, barred set) {
	next := s.cheapest(base, s.outside(base, barred))
	if next < 0 {
		return
	}
	heap.Push(&s.branches, &branch{set: base, barred: barred, next: next, cost: s.cost(base.with(next))})
}

// outside returns the units that need not be added to a set that is not enough: those that are barred, and those
// that are not enough together with the set. Of the sets known not to be enough, it takes the one that leaves
// fewest units.
func (s *search) outside(base, barred set) set {
	var best set
	most := -1
	for _, short := range s.short {
		if base.within(short) {
			if count := short.countUnion(barred); count > most {
				best, most = short, count
			}
		}
	}
	return barred.union(best)
}

// try finds out about a batch, and reports whether its only set is enough. Sets that are not enough are extended. Sets
// that may be enough are put back.
func (s *search) try(batch []*branch) bool {
	union := s.tried
	if s.alone > 0 {
		union = newSet(len(s.units))
	}
	unions := []set{union}
	for i, b := range batch {
		unions = append(unions, unions[i].union(b.set))
	}
	short := len(batch)
	if s.isEnough(unions[short]) {
		short = sort.Search(short, func(i int) bool { return s.isEnough(unions[i]) }) - 1
	}
	if short == 0 && len(batch) == 1 && unions[1].within(batch[0].set) {
		return true
	}
	s.tried = unions[short]
	for _, b := range batch[:short] {
		s.extend(b.set, b.barred)
	}
	for _, b := range batch[short:] {
		heap.Push(&s.branches, b)
	}
	s.adapt(short, len(batch))
	return false
}

// adapt decides how many sets are tried at once from how many of the last ones were found not to be enough.
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
