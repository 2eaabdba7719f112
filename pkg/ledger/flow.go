// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// flow divides group g and all later groups as if shares could be split into pieces. The size of a piece is the
// greatest common divisor of all share sizes. flow takes the amounts from the rooms. It returns nil if all groups fit.
// Otherwise, it returns the groups on one side of a minimum cut. These groups together lack room.
func (d *division) flow(g int, left []int64) []int {
	f := newFlow(d.groups[g:], left)
	defer func() { d.work += f.work }()
	for i, group := range f.groups {
		for todo := group.shares * group.each; todo > 0; {
			sent, reached := f.augment(i, todo)
			if sent == 0 {
				for j := range reached {
					reached[j] += g
				}
				slices.Sort(reached)
				return reached
			}
			todo -= sent
		}
	}
	return nil
}

func newFlow(groups []group, left []int64) *flow {
	f := &flow{groups: groups, left: left, sent: make([][]int64, len(groups)), into: make([][]step, len(left))}
	for i, group := range groups {
		f.sent[i] = make([]int64, len(group.among))
		f.piece = gcd(f.piece, group.each)
		for j, c := range group.among {
			f.into[c] = append(f.into[c], step{i, j})
		}
	}
	f.by, f.back = make([]step, len(left)), make([]int, len(groups))
	return f
}

// flow is a flow from groups into rooms, computed by augmenting paths (Edmonds and Karp).
type flow struct {
	groups []group
	// left is the remaining size of each room.
	left []int64
	// sent is the flow from each group into each of its rooms.
	sent [][]int64
	// into lists the ways into each room.
	into [][]step
	// by records, for each room, how the search reached it. back records, for each group reached, the room that the group would vacate.
	by   []step
	back []int
	// work counts the edges visited.
	work int
	// piece is the unit in which the shares move.
	piece int64
}

// step is a way into a room: from a group, into the i-th of its rooms.
type step struct{ group, i int }

const (
	// notReached marks a group or room that the search has not reached.
	notReached = -2
	// start marks the group where the search begins.
	start = -1
)

// augment sends up to most more units of a group into the rooms, along a shortest path. If necessary, it moves flow
// that other groups have sent. It returns the amount sent. If that is zero, it also returns all groups reached.
func (f *flow) augment(from int, most int64) (int64, []int) {
	for c := range f.by {
		f.by[c].group = notReached
	}
	for g := range f.back {
		f.back[g] = notReached
	}
	f.back[from] = start
	queue := []int{from}
	for k := 0; k < len(queue); k++ {
		for i, c := range f.groups[queue[k]].among {
			f.work++
			if f.by[c].group != notReached {
				continue
			}
			f.by[c] = step{queue[k], i}
			if free := f.left[c] - f.left[c]%f.piece; free > 0 {
				return f.push(c, min(most, free)), nil
			}
			f.work += len(f.into[c])
			for _, s := range f.into[c] {
				if f.back[s.group] == notReached && f.sent[s.group][s.i] > 0 {
					f.back[s.group] = c
					queue = append(queue, s.group)
				}
			}
		}
	}
	return 0, queue
}

// push sends as much as possible along the path that ends in a room, and returns the amount sent.
func (f *flow) push(room int, amount int64) int64 {
	for c := room; f.back[f.by[c].group] != start; c = f.back[f.by[c].group] {
		amount = min(amount, *f.moved(f.by[c].group))
	}
	f.left[room] -= amount
	for c := room; ; c = f.back[f.by[c].group] {
		s := f.by[c]
		f.sent[s.group][s.i] += amount
		if f.back[s.group] == start {
			return amount
		}
		*f.moved(s.group) -= amount
	}
}

// moved returns the flow from a group into the room that the group would vacate.
func (f *flow) moved(group int) *int64 {
	return &f.sent[group][slices.Index(f.groups[group].among, f.back[group])]
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
