package ledger

import "slices"

// division is the question how groups of shares can be divided among rooms: a transportation problem
// with indivisible loads.
type division struct {
	// dimensions and rooms have an entry for each room.
	dimensions []Ordinal
	rooms      []int64
	// groups are sorted by the size of their shares, the largest first.
	groups []group
	// tries counts the steps of the search.
	tries int
}

// group is a number of shares of one size, each of which goes into one of some rooms.
type group struct {
	shares, each int64
	among        []int
}

// divide returns how many units go into each room, or else the groups that are short of room.
func (d *division) divide() ([]int64, []int) {
	left := slices.Clone(d.rooms)
	if short := d.flow(0, slices.Clone(left)); short != nil {
		return nil, short
	}
	switch d.from(0, left) {
	case impossible:
		return nil, allOf(d.groups)
	case unknown:
		// What fits in sum is taken to fit.
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

// mostSteps bounds the search for a division. A step costs a flow.
const mostSteps = 1_000

// verdict is what a search found out.
type verdict uint8

const (
	impossible verdict = iota
	possible
	unknown
)

// from divides group g and those after it among what is left of the rooms, which it changes if that is
// possible.
func (d *division) from(g int, left []int64) verdict {
	rest := slices.Clone(left)
	if d.flow(g, rest) != nil {
		return impossible
	}
	if d.groups[g].each == d.groups[len(d.groups)-1].each {
		copy(left, rest)
		return possible // the flow is of whole shares
	}
	return d.spread(g, 0, d.groups[g].shares, left)
}

// spread divides so many shares of group g among its rooms from the i-th on, as many as possible
// into the first ones, and then goes on with the next group.
func (d *division) spread(g, i int, shares int64, left []int64) verdict {
	group := &d.groups[g]
	if d.tries++; d.tries > mostSteps {
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

// flow divides the groups from g on as if their shares came in pieces, of the largest size that all
// shares can be made of, and takes what they need from the rooms. It returns nil if there is room for all,
// and else the groups that are short of room together (those on one side of a smallest cut).
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

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// flow is a flow from groups into rooms.
type flow struct {
	groups []group
	// left is what rooms have left, sent what flows from each group into each of its rooms.
	left  []int64
	sent  [][]int64
	piece int64
}

// step is how a room was reached: from a group, by the i-th of its rooms.
type step struct{ group, i int }

// augment sends up to so much more of a group into the rooms, moving what others have sent if need
// be, by a shortest way. It returns how much was sent; if nothing, all groups that were reached.
func (f *flow) augment(from int, most int64) (int64, []int) {
	by := make([]*step, len(f.left))
	// back has for each group that was reached the room whose content it would move.
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

// push sends along the way that ends in a room, as much as all on it allow.
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
