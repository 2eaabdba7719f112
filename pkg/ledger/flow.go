// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// flow divides the groups from g on as if each share could be divided into pieces. The size of a
// piece is the greatest common divisor of all sizes. flow takes what the groups need from the rooms.
// It returns nil if there is room for all groups. Otherwise it returns the groups that are short of
// room together: those on one side of a minimum cut.
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
	// left is what each room has left.
	left []int64
	// sent is what flows from each group into each of its rooms.
	sent [][]int64
	// into has the ways into each room.
	into [][]step
	// by has, for each room, how the search for a path reached it. Back has, for each group that was
	// reached, the room whose content the group would move.
	by   []step
	back []int
	// work counts the edges that were looked at.
	work int
	// piece is the unit in which the shares move.
	piece int64
}

// step is a way into a room: from a group, as the i-th of its rooms.
type step struct{ group, i int }

const (
	// notReached stands for a group or a room that the search has not reached.
	notReached = -2
	// start stands for the room of the group where the search begins.
	start = -1
)

// augment sends up to most more units of a group into the rooms, on a shortest path. If necessary, it
// moves what other groups have sent. It returns how much was sent and, if that is zero, all groups
// that were reached.
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

// push sends as much as possible along the path that ends in a room, and returns how much that is.
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

// moved is what flows from a group into the room whose content it would move.
func (f *flow) moved(group int) *int64 {
	return &f.sent[group][slices.Index(f.groups[group].among, f.back[group])]
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
