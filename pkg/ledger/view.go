// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
)

// overlay holds the changes of a view: everything else is read from the base.
type overlay struct {
	allocated map[cell]Amount
	charges   map[*Part]charge
}

func (v *overlay) setCharge(p *Part, c charge) {
	if v.charges == nil {
		v.charges = map[*Part]charge{}
	}
	v.charges[p] = c
}

func (v *overlay) setAllocated(c cell, a Amount) {
	if v.allocated == nil {
		v.allocated = map[cell]Amount{}
	}
	v.allocated[c] = a
}

// View returns a ledger that starts with the state of this one. Charges and releases in the view do
// not change this ledger. All other changes of a view are errors (ErrView). The view copies nothing
// until it is changed; a view of a view copies its changes.
//
// While a view is in use, its base must not be changed. One goroutine may use a view at a time.
// Different views of one base may be used at the same time.
func (l *Ledger) View() *Ledger {
	view := *l
	view.overlay = &overlay{}
	if l.overlay != nil {
		*view.overlay = overlay{allocated: maps.Clone(l.overlay.allocated), charges: maps.Clone(l.overlay.charges)}
	}
	return &view
}

// charge returns the charge of a part; it has no holds if the part is not charged. Its lists must
// not be changed.
func (l *Ledger) charge(p *Part) charge {
	if l.overlay != nil {
		if c, changed := l.overlay.charges[p]; changed {
			return c
		}
	}
	if p.ledger != l.id {
		return charge{}
	}
	return p.charge
}

// holds returns the holders of a part, the payer first. It is charge without a copy, for checks.
func (l *Ledger) holds(p *Part) []hold {
	if l.overlay != nil {
		return l.charge(p).holds
	}
	if p.ledger != l.id {
		return nil
	}
	return p.charge.holds
}

// addHold appends to the holds of a part. The first hold records what is charged.
func (l *Ledger) addHold(p *Part, h hold) {
	if l.overlay != nil {
		c := l.charge(p)
		if len(c.holds) == 0 {
			c.amounts = p.amounts
		}
		c.holds = append(slices.Clip(c.holds), h)
		l.overlay.setCharge(p, c)
		return
	}
	if p.ledger != l.id {
		p.ledger, p.charge.holds = l.id, p.charge.holds[:0]
	}
	if len(p.charge.holds) == 0 {
		p.charge.amounts = p.amounts
	}
	p.charge.holds = append(p.charge.holds, h)
}

// dropHold removes the hold at index i.
func (l *Ledger) dropHold(p *Part, i int) {
	if l.overlay != nil {
		c := l.charge(p)
		c.holds = slices.Delete(slices.Clone(c.holds), i, i+1)
		l.overlay.setCharge(p, c)
		return
	}
	p.charge.holds = slices.Delete(p.charge.holds, i, i+1)
}
