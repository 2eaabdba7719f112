// SPDX-License-Identifier: Apache-2.0

package members

import (
	"math"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// place is a cluster in the dimensions of the sessions. It is kept from one session to the next, and changes only if
// what is known of the cluster does.
type place struct {
	*cluster
	reported *hardware
	// resources and devices are the figures that rooms was made of.
	resources, devices figures
	rooms              []room
	// free is what is left in the session, by ordinal. It may be negative.
	free []ledger.Amount
	// growth is by how much more is in use than in the session before, as far as it is not attributed yet.
	growth []ledger.Amount
}

// room is what is known of a dimension in a cluster.
type room struct {
	figure
	bound bound
}

// bound says what a figure is worth.
type bound uint8

const (
	// bounded means that the cluster has what the figure says.
	bounded bound = iota
	// unknown means that nobody looks at the dimension there, or that what is free does not bound it.
	unknown
	// awaited means that the cluster is still being read.
	awaited
)

// refresh brings a place up to date before a session.
func (p *place) refresh(c *cluster, r *hardware, dimensions *ledger.Dimensions, sameDimensions bool) {
	p.growth = resized(p.growth, dimensions.Len())
	clear(p.growth)
	if p.cluster != c || p.reported != r || !sameDimensions || len(p.rooms) != dimensions.Len() {
		p.count(c, r, dimensions)
	}
	p.free = resized(p.free, len(p.rooms))
	for o := range p.rooms {
		p.free[o], _ = p.rooms[o].total.Sub(p.rooms[o].used)
	}
}

func (p *place) count(c *cluster, r *hardware, dimensions *ledger.Dimensions) {
	p.rooms = resized(p.rooms, dimensions.Len())
	for o := range ledger.Ordinal(dimensions.Len()) {
		d := dimensions.Dimension(o)
		next, before := c.resources, p.resources
		p.rooms[o].bound = bounded
		if d.Kind != ledger.Resource {
			next, before = r.amounts, p.devices
			p.rooms[o].bound = r.bound(d)
		}
		p.rooms[o].figure = next[d]
		if was, known := before[d]; known {
			if more, err := next[d].used.Sub(was.used); err == nil && more.Sign() > 0 {
				p.growth[o] = more
			}
		}
	}
	p.cluster, p.reported, p.resources, p.devices = c, r, c.resources, r.amounts
}

// holds reports whether the amounts fit what is free. Of the choices, which are sorted, one is enough.
func (p *place) holds(need ledger.Amounts, choices []ledger.Ordinal) bool {
	chosen, open := false, false
	for _, e := range need {
		fits := p.fits(e)
		if _, choice := slices.BinarySearch(choices, e.Dimension); choice {
			chosen, open = chosen || fits, true
		} else if !fits {
			return false
		}
	}
	return chosen || !open
}

func (p *place) fits(e ledger.Entry) bool {
	switch p.boundOf(e.Dimension) {
	case bounded:
		return e.Amount.Cmp(p.freeOf(e.Dimension)) <= 0 || e.Amount.Sign() <= 0
	case unknown:
		return true
	default:
		return e.Amount.Sign() <= 0
	}
}

// couldHold reports whether the amounts without choices may fit if nothing else runs.
func (p *place) couldHold(need ledger.Amounts, choices []ledger.Ordinal) bool {
	for _, e := range need {
		if _, choice := slices.BinarySearch(choices, e.Dimension); !choice && int(e.Dimension) < len(p.rooms) &&
			p.rooms[e.Dimension].bound == bounded && e.Amount.Cmp(p.rooms[e.Dimension].total) > 0 {
			return false
		}
	}
	return true
}

// boundOf is awaited for a dimension that is newer than the session.
func (p *place) boundOf(o ledger.Ordinal) bound {
	if int(o) >= len(p.rooms) {
		return awaited
	}
	return p.rooms[o].bound
}

func (p *place) freeOf(o ledger.Ordinal) ledger.Amount {
	if int(o) >= len(p.free) {
		return ledger.Amount{}
	}
	return p.free[o]
}

// pieces estimates how many times the amounts fit what is free, as a fraction, too. It is negative if more is taken than
// there is. Of the choices, the one that fits most often counts.
func (p *place) pieces(need ledger.Amounts, choices []ledger.Ordinal) float64 {
	least, best, open := float64(mostPieces), math.Inf(-1), false
	for _, e := range need {
		times := float64(mostPieces)
		if e.Amount.Sign() > 0 && p.boundOf(e.Dimension) != unknown {
			times = p.freeOf(e.Dimension).Float(1) / e.Amount.Float(1)
		}
		if _, choice := slices.BinarySearch(choices, e.Dimension); choice {
			best, open = max(best, times), true
		} else {
			least = min(least, times)
		}
	}
	if open {
		return min(least, best)
	}
	return least
}

// mostPieces is more than any workload has.
const mostPieces = 1 << 40

// take takes that many times the amounts. What is out of range is not taken.
func (p *place) take(need ledger.Amounts, times int64) {
	for _, e := range need {
		amount := e.Amount
		if times != 1 {
			var err error
			if amount, err = amount.Times(times); err != nil {
				continue
			}
		}
		if int(e.Dimension) >= len(p.free) {
			continue
		}
		if left, err := p.free[e.Dimension].Sub(amount); err == nil {
			p.free[e.Dimension] = left
		}
	}
}

// resized returns a slice of that length, with the memory of another if that is enough.
func resized[T any](s []T, length int) []T {
	if cap(s) < length {
		return make([]T, length, length+length/4)
	}
	return s[:length]
}
