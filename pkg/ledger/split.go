// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Split is an amount that may be divided among several dimensions, in indivisible shares.
type Split struct {
	// Shares is the number of shares. Each is the size of a share in whole units. Both must be greater than zero.
	Shares, Each int64
	// Among lists each dimension that a share may be of once, preferred first.
	Among []Ordinal
}

// FitsInqueueSplit is FitsInqueue for a job with some splits in addition to a minimum, which must fit. The splits fit
// if one division of all of them leaves enough room in each dimension, at the queue and at each of its ancestors.
// FitsInqueueSplit returns the amounts of the division. It chooses a division that uses the preferred dimensions.
//
// The answer is exact unless shares of different sizes can be combined in too many ways to try them all. In this case,
// FitsInqueueSplit compares only the sums.
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

// newDivision computes the room in each dimension of the splits.
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
	// Place large shares first, because they can be divided in the fewest ways.
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

// name joins several dimensions of one kind for a refusal.
func (d *division) name(l *Ledger, among []int) Dimension {
	var names []string
	for _, c := range among {
		names = append(names, l.dimensions.Dimension(d.dimensions[c]).String())
	}
	return Dimension{Kind: l.dimensions.Dimension(d.dimensions[among[0]]).Kind, Name: strings.Join(names, "|")}
}
