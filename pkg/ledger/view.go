package ledger

import (
	"maps"
	"slices"
)

// overlay is what a view has changed: nothing is copied before it is written.
type overlay struct {
	allocated map[cell]Amount
	holds     map[*Part][]hold
}

func (v *overlay) setHolds(p *Part, holds []hold) {
	if v.holds == nil {
		v.holds = map[*Part][]hold{}
	}
	v.holds[p] = holds
}

func (v *overlay) setAllocated(c cell, a Amount) {
	if v.allocated == nil {
		v.allocated = map[cell]Amount{}
	}
	v.allocated[c] = a
}

// View returns a ledger that begins as this one is and goes its own way: charges and
// releases in it change nothing here. It costs next to nothing until it is written to. A
// view of a view is a copy of it. While a view is in use its base must not be changed; one
// view is for one goroutine, different views of one base may be used at the same time.
// Posting to a view is not supported.
func (l *Ledger) View() *Ledger {
	view := *l
	view.overlay = &overlay{}
	if l.overlay != nil {
		*view.overlay = overlay{allocated: maps.Clone(l.overlay.allocated), holds: maps.Clone(l.overlay.holds)}
	}
	return &view
}

// holds returns who holds a part, the one that carries the charge first.
func (l *Ledger) holds(p *Part) []hold {
	if l.overlay != nil {
		if holds, changed := l.overlay.holds[p]; changed {
			return holds
		}
	}
	if p.ledger != l.id {
		return nil
	}
	return p.holds
}

// addHold appends to the holds of a part.
func (l *Ledger) addHold(p *Part, h hold) {
	if l.overlay != nil {
		l.overlay.setHolds(p, append(slices.Clip(l.holds(p)), h))
		return
	}
	if p.ledger != l.id {
		p.ledger, p.holds = l.id, p.holds[:0]
	}
	p.holds = append(p.holds, h)
}

// dropHold takes the hold at index i away.
func (l *Ledger) dropHold(p *Part, i int) {
	if l.overlay != nil {
		l.overlay.setHolds(p, slices.Delete(slices.Clone(l.holds(p)), i, i+1))
		return
	}
	p.holds = slices.Delete(p.holds, i, i+1)
}
