package ledger

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Split is an amount that may be divided: so many shares, each of them of one of several
// dimensions.
type Split struct {
	// Shares is how many there are, Each how many whole units one is; both are more than zero.
	Shares, Each int64
	// Among are the dimensions, each once, the preferred one first.
	Among []Ordinal
}

// FitsInqueueSplit is FitsInqueue for a job that needs at least a minimum, which must fit, and some
// splits. They fit if all of them can be divided together so that no dimension has more than there is
// room for, at the queue and at each of its ancestors. It returns how much of each dimension that
// takes, of the preferred ones where there is a choice.
//
// The answer is exact unless splits have shares of different sizes in so many combinations that
// trying them all would take too long; then what fits in sum is taken to fit.
func (l *Ledger) FitsInqueueSplit(q QueueID, minimum Amounts, splits []Split) (Amounts, *Refusal, error) {
	d, err := l.newDivision(q, minimum, splits)
	if err != nil || len(splits) == 0 {
		return nil, nil, err
	}
	taken, short := d.divide()
	if short != nil {
		refusal, err := l.refuseSplit(q, minimum, d, short)
		return nil, refusal, err
	}
	var amounts Amounts
	for c, units := range taken {
		if units > 0 {
			amounts = append(amounts, Entry{Dimension: d.dimensions[c], Amount: Units(units)})
		}
	}
	return amounts, nil, nil
}

// newDivision finds out how much room there is for each dimension of the splits.
func (l *Ledger) newDivision(q QueueID, minimum Amounts, splits []Split) (*division, error) {
	d := &division{}
	var most []int64
	total := int64(0)
	for _, s := range splits {
		if s.Each > (math.MaxInt64-total)/s.Shares {
			return nil, ErrOverflow
		}
		total += s.Shares * s.Each
		g := group{shares: s.Shares, each: s.Each}
		for _, o := range s.Among {
			c := slices.Index(d.dimensions, o)
			if c < 0 {
				c = len(d.dimensions)
				d.dimensions, most = append(d.dimensions, o), append(most, 0)
			}
			g.among = append(g.among, c)
			most[c] += s.Shares * s.Each
		}
		d.groups = append(d.groups, g)
	}
	// Those with large shares have the fewest ways to be divided.
	slices.SortStableFunc(d.groups, func(a, b group) int { return cmp.Compare(b.each, a.each) })
	d.rooms = make([]int64, len(d.dimensions))
	for c, o := range d.dimensions {
		var err error
		if d.rooms[c], err = l.RoomInqueue(q, minimum, Amounts{{Dimension: o, Amount: Units(1)}}, most[c]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// name is what people see of several dimensions of one kind.
func (d *division) name(l *Ledger, among []int) Dimension {
	var names []string
	for _, c := range among {
		names = append(names, l.dimensions.Dimension(d.dimensions[c]).String())
	}
	return Dimension{Kind: l.dimensions.Dimension(d.dimensions[among[0]]).Kind, Name: strings.Join(names, "|")}
}
