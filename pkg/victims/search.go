// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"container/heap"
	"sort"
)

// search finds the cheapest set that is allowed and enough. It visits sets in the order of their cost, so the first
// sufficient set is the cheapest.
//
// Two rules reduce the number of sets visited. First, if a set is known not to be enough, every result contains a unit
// outside it, so search adds only such units to its subsets. Second, search tries several of the next sets at once. If
// even their union is not enough, none of them is. The union is then a large set that is known not to be enough.
type search struct {
	*problem
	// best is the greedy choice, or nil. search looks only for cheaper sets.
	best     set
	bestCost Cost
	branches branches
	// budget limits the calls of enough, and steps, the number of branches visited.
	budget, steps int
	// tried is the last set that was not enough. The next sets are tried together with it.
	tried set
	// width is the number of sets tried at once.
	width int
	// alone is the number of sets to try one by one before trying several at once again. If trying several at once
	// fails, alone becomes penalty, which doubles each time.
	alone, penalty int
}

// branch stands for the sets that contain its base and no unit that it bars.
type branch struct {
	base, barred set
	// next is the unit that the cheapest set of the branch adds to the base, which is not enough. It is -1 if it is
	// unknown whether the base is enough.
	next int
	// cost is the cost of the base with next. No result in the branch is cheaper.
	cost Cost
}

// stepsPerCall is the number of branches that the search may visit per budgeted call of enough, plus stepsPerUnit per
// unit. Branches without a call take time, too.
const (
	stepsPerCall = 8
	stepsPerUnit = 4
)

// newSearch returns the search for a set cheaper than best, which is nil if none was found.
func newSearch(p *problem, barred, best set, budget int) *search {
	none := newSet(len(p.units))
	s := &search{
		problem: p, best: best, bestCost: p.cost(best), budget: budget, steps: -stepsPerUnit * len(p.units),
		tried: none, width: 1, penalty: 1,
	}
	s.extend(none, barred)
	return s
}

// run returns the cheapest set. It returns best if it finds no cheaper set before the budget is spent.
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

// take removes the next branches with bases to try.
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

// split divides a branch into the sets with the next unit and the sets without it.
func (s *search) split(b *branch) {
	if s.outside(b.base, b.barred).has(b.next) {
		// By now, a larger set is known not to be enough.
		s.extend(b.base, b.barred)
		return
	}
	if with := b.base.with(b.next); s.isAllowed(with) {
		heap.Push(&s.branches, &branch{base: with, barred: b.barred, next: -1, cost: b.cost})
	}
	s.extend(b.base, b.barred.with(b.next))
}

// extend pushes the branch of a base that is known not to be enough. It skips the branch if all its sets cost at least as much
// as the best set.
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

// outside returns the units that need not be added to a base that is not enough. These are the barred units and the
// units of a larger set that is not enough. Of these larger sets, outside uses the one that leaves the fewest units.
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

// try tests a batch. It reports whether the batch is a single base that is enough. It extends bases that are not
// enough, and puts back bases that may be enough.
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

// adapt sets the number of bases to try at once, based on how many of the last ones were not enough.
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

// branches is a heap with the cheapest branch first.
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
