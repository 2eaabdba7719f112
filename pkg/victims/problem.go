// SPDX-License-Identifier: Apache-2.0

package victims

import "slices"

// problem describes one choice. It translates between ranks and the caller's indexes, and derives answers about sets from earlier answers.
type problem struct {
	units []Unit
	// index maps ranks to indexes. Ranks follow the order of compareWithoutGang.
	index []int
	// gang maps ranks to numbers of gangs, -1 for no gang.
	gang  []int
	gangs int

	askAllowed, askEnough func([]int) bool
	// asked counts the calls of askEnough.
	asked int
	// short lists sets that are not enough. Neither are their subsets. enough lists sets that are enough. So are their
	// supersets. No set of a list contains another.
	short, enough []set
}

func newProblem(units []Unit, allowed, enough func([]int) bool) *problem {
	p := &problem{units: units, index: make([]int, len(units)), gang: make([]int, len(units)), askAllowed: allowed, askEnough: enough}
	for i := range units {
		p.index[i] = i
	}
	slices.SortStableFunc(p.index, func(i, j int) int { return compareWithoutGang(&units[i], &units[j]) })
	numbers := map[string]int{"": -1}
	for rank, i := range p.index {
		number, found := numbers[units[i].Gang]
		if !found {
			number = p.gangs
			p.gangs++
			numbers[units[i].Gang] = number
		}
		p.gang[rank] = number
	}
	return p
}

// indexes returns the caller's indexes of a set, in ascending order.
func (p *problem) indexes(s set) []int {
	indexes := []int{}
	for rank := range s.ranks() {
		indexes = append(indexes, p.index[rank])
	}
	slices.Sort(indexes)
	return indexes
}

func (p *problem) cost(s set) Cost { return CostOf(p.units, p.indexes(s)) }

func (p *problem) isAllowed(s set) bool { return p.askAllowed(p.indexes(s)) }

// isEnough reports whether a set is enough. It calls askEnough only if earlier answers do not decide.
func (p *problem) isEnough(s set) bool {
	if p.knownShort(s) {
		return false
	}
	if slices.ContainsFunc(p.enough, func(e set) bool { return e.within(s) }) {
		return true
	}
	p.asked++
	if p.askEnough(p.indexes(s)) {
		p.enough = append(slices.DeleteFunc(p.enough, func(e set) bool { return s.within(e) }), s)
		return true
	}
	p.short = append(slices.DeleteFunc(p.short, func(e set) bool { return e.within(s) }), s)
	return false
}

// knownShort reports whether earlier answers prove that a set is not enough.
func (p *problem) knownShort(s set) bool {
	return slices.ContainsFunc(p.short, func(e set) bool { return s.within(e) })
}

// byCost returns the units outside a set that are not barred, ordered by the cost that they add to the set, lowest first.
func (p *problem) byCost(s, barred set) []int {
	hurt := p.hurt(s)
	var free, hurting []int
	for rank := range p.units {
		switch gang := p.gang[rank]; {
		case s.has(rank) || barred.has(rank):
		case gang < 0 || hurt.has(gang):
			free = append(free, rank)
		default:
			hurting = append(hurting, rank)
		}
	}
	return append(free, hurting...)
}

// cheapest returns the first unit of byCost, or -1 if there is none.
func (p *problem) cheapest(s, barred set) int {
	hurt, hurting := p.hurt(s), -1
	for rank := range p.units {
		if s.has(rank) || barred.has(rank) {
			continue
		}
		if gang := p.gang[rank]; gang < 0 || hurt.has(gang) {
			return rank
		}
		if hurting < 0 {
			hurting = rank
		}
	}
	return hurting
}

func (p *problem) hurt(s set) set {
	gangs := newSet(p.gangs)
	for rank := range s.ranks() {
		if gang := p.gang[rank]; gang >= 0 {
			gangs[gang/64] |= 1 << (gang % 64)
		}
	}
	return gangs
}
