// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// division divides groups of shares among rooms. This is a transportation problem with indivisible loads.
type division struct {
	// dimensions holds the dimension of each room. rooms holds the size of each room in whole units.
	dimensions []Ordinal
	rooms      []int64
	// groups are sorted by share size, largest first.
	groups []group
	// work counts the steps of the search, and the edges that its flows visit. An edge is a room that the shares of a
	// group may go into. The search gives up when work exceeds most.
	work, most int
}

// group is a number of shares of the same size. Each share goes into one room.
type group struct {
	shares, each int64
	// among holds the rooms that the shares may go into, preferred room first.
	among []int
}

// divide returns how many units go into each room. If there is no division, it returns the groups that lack room.
func (d *division) divide() ([]int64, []int) {
	left := slices.Clone(d.rooms)
	if short := d.flow(0, slices.Clone(left)); short != nil {
		return nil, short
	}
	d.work, d.most = 0, workPerEdge*d.edges()
	switch d.from(0, left) {
	case impossible:
		return nil, allOf(d.groups)
	case unknown:
		// Assume that the division exists, because the total amounts fit.
		left = slices.Clone(d.rooms)
		d.flow(0, left)
	}
	taken := make([]int64, len(left))
	for c := range left {
		taken[c] = d.rooms[c] - left[c]
	}
	return taken, nil
}

func allOf(groups []group) []int {
	all := make([]int, len(groups))
	for i := range all {
		all[i] = i
	}
	return all
}

// workPerEdge bounds the search by the number of edges, regardless of the amounts. The first flow is not bounded,
// because its number of paths depends only on the number of edges.
const workPerEdge = 250

func (d *division) edges() int {
	edges := 0
	for i := range d.groups {
		edges += len(d.groups[i].among)
	}
	return edges
}

type verdict uint8

const (
	impossible verdict = iota
	possible
	unknown
)

// from divides group g and all later groups among the remaining rooms. It changes left only if it succeeds.
func (d *division) from(g int, left []int64) verdict {
	if d.work > d.most {
		return unknown
	}
	rest := slices.Clone(left)
	if d.flow(g, rest) != nil {
		return impossible
	}
	if d.groups[g].each == d.groups[len(d.groups)-1].each {
		copy(left, rest)
		return possible // all shares have the same size, so the flow moves whole shares
	}
	return d.spread(g, 0, d.groups[g].shares, left)
}

// spread divides shares of group g among its rooms, starting with room i, and then continues with the next group. It
// puts as many shares as possible into the first rooms.
func (d *division) spread(g, i int, shares int64, left []int64) verdict {
	group := &d.groups[g]
	if d.work++; d.work > d.most {
		return unknown
	}
	if shares == 0 {
		return d.from(g+1, left)
	}
	if i == len(group.among) {
		return impossible
	}
	c := group.among[i]
	for n := min(shares, left[c]/group.each); n >= 0; n-- {
		left[c] -= n * group.each
		if v := d.spread(g, i+1, shares-n, left); v != impossible {
			return v
		}
		left[c] += n * group.each
	}
	return impossible
}
