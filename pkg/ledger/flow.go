// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// flow divides the groups from g on as if each share could be divided into pieces. The size of a
// piece is the greatest common divisor of all sizes. flow takes what the groups need from the rooms.
// It returns nil if there is room for all groups. Otherwise it returns the groups that are short of
// room together: those on one side of a minimum cut.
func (d *division) flow(g int, left []int64) []int {
	f := flow{groups: d.groups[g:], left: left}
	f.sent = make([][]int64, len(f.groups))
	for i, group := range f.groups {
		f.sent[i] = make([]int64, len(group.among))
		f.piece = gcd(f.piece, group.each)
	}
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

// flow is a flow from groups into rooms, computed by augmenting paths (Edmonds and Karp).
type flow struct {
	groups []group
	// left is what each room has left.
	left []int64
	// sent is what flows from each group into each of its rooms.
	sent [][]int64
	// piece is the unit in which the shares move.
	piece int64
}

// step says how a room was reached: from a group, as the i-th of its rooms.
type step struct{ group, i int }

// augment sends up to most more units of a group into the rooms, on a shortest path. If necessary, it
// moves what other groups have sent. It returns how much was sent and, if that is zero, all groups
// that were reached.
func (f *flow) augment(from int, most int64) (int64, []int) {
	by := make([]*step, len(f.left))
	// back holds, for each group that was reached, the room whose content the group would move.
	back := map[int]int{from: -1}
	queue := []int{from}
	for k := 0; k < len(queue); k++ {
		for i, c := range f.groups[queue[k]].among {
			if by[c] != nil {
				continue
			}
			by[c] = &step{queue[k], i}
			if free := f.left[c] - f.left[c]%f.piece; free > 0 {
				return f.push(c, min(most, free), by, back), nil
			}
			for other := range f.groups {
				at := slices.Index(f.groups[other].among, c)
				if _, reached := back[other]; !reached && at >= 0 && f.sent[other][at] > 0 {
					back[other] = c
					queue = append(queue, other)
				}
			}
		}
	}
	return 0, queue
}

// push sends as much as possible along the path that ends in a room, and returns how much that is.
func (f *flow) push(room int, amount int64, by []*step, back map[int]int) int64 {
	for c := room; ; {
		s := by[c]
		next := back[s.group]
		if next < 0 {
			break
		}
		amount = min(amount, f.sent[s.group][slices.Index(f.groups[s.group].among, next)])
		c = next
	}
	f.left[room] -= amount
	for c := room; ; {
		s := by[c]
		f.sent[s.group][s.i] += amount
		next := back[s.group]
		if next < 0 {
			return amount
		}
		f.sent[s.group][slices.Index(f.groups[s.group].among, next)] -= amount
		c = next
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
