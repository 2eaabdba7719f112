// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
)

// overlay holds the changes of a view. Everything else comes from the base.
type overlay struct {
	balances map[cell]Amount
	charges  map[*Part]charge
}

func (v *overlay) setCharge(p *Part, c charge) {
	if v.charges == nil {
		v.charges = map[*Part]charge{}
	}
	v.charges[p] = c
}

func (v *overlay) setBalance(c cell, a Amount) {
	if v.balances == nil {
		v.balances = map[cell]Amount{}
	}
	v.balances[c] = a
}

// View returns a ledger that starts with the state of this one. Charges and releases in the view do not change this
// ledger. All other changes of a view are errors (ErrView), and so are all changes of a view of [Ledger.Held]. The view
// copies nothing until it changes. A view of a view copies the changes of its base.
//
// Do not change the base while a view is in use. Only one goroutine may use a view at a time. Different views of one
// base may be used concurrently.
func (l *Ledger) View() *Ledger {
	view := *l
	view.overlay = &overlay{}
	if l.overlay != nil {
		*view.overlay = overlay{balances: maps.Clone(l.overlay.balances), charges: maps.Clone(l.overlay.charges)}
	}
	return &view
}

// charge returns the charge of a part. It has no holds if the part is not charged. Callers must not change its lists.
func (l *Ledger) charge(p *Part) charge {
	c := l.record(p)
	if l.held && len(c.holds) == 0 {
		return charge{holds: c.releasing, amounts: p.amounts}
	}
	return c
}

// record returns the recorded charge of a part. Callers must not change its lists.
func (l *Ledger) record(p *Part) charge {
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

// holds returns the holders of a part, payer first. For the speed of checks, it does not copy a charge.
func (l *Ledger) holds(p *Part) []hold {
	switch {
	case l.overlay != nil:
		return l.charge(p).holds
	case p.ledger != l.id:
		return nil
	case l.held && len(p.charge.holds) == 0:
		return p.charge.releasing
	default:
		return p.charge.holds
	}
}

// addHold appends to the holds of a part. The first hold also records the charged amounts.
func (l *Ledger) addHold(p *Part, h hold) {
	if l.overlay != nil {
		c := l.record(p)
		if len(c.holds) == 0 {
			c.amounts = p.amounts
		}
		c.holds = append(slices.Clip(c.holds), h)
		l.overlay.setCharge(p, c)
		return
	}
	p.enter(l)
	if len(p.charge.holds) == 0 {
		p.charge.amounts = p.amounts
	}
	p.charge.holds = append(p.charge.holds, h)
	p.charge.note(h.holder)
}

// note adds a new holder to the set of holders, if there are many.
func (c *charge) note(holder Holder) {
	switch {
	case c.holders != nil:
		c.holders[holder] = true
	case len(c.holds) > manyHolders:
		c.holders = make(map[Holder]bool, 2*len(c.holds))
		for _, h := range c.holds {
			c.holders[h.holder] = true
		}
	}
}

func (l *Ledger) dropHold(p *Part, i int) {
	if l.overlay != nil {
		c := l.record(p)
		c.holds = slices.Delete(slices.Clone(c.holds), i, i+1)
		l.overlay.setCharge(p, c)
		return
	}
	delete(p.charge.holders, p.charge.holds[i].holder)
	p.charge.holds = slices.Delete(p.charge.holds, i, i+1)
}

func (l *Ledger) setReleasing(p *Part, releasing []hold) {
	if l.overlay != nil {
		c := l.record(p)
		c.releasing = releasing
		l.overlay.setCharge(p, c)
		return
	}
	p.enter(l)
	p.charge.releasing = releasing
}

func (l *Ledger) setStandIns(p *Part, standIns []*Part) {
	if l.overlay != nil {
		c := l.record(p)
		c.standIns = standIns
		l.overlay.setCharge(p, c)
		return
	}
	p.enter(l)
	p.charge.standIns = standIns
}

// enter forgets the charges of the part in other ledgers.
func (p *Part) enter(l *Ledger) {
	if p.ledger != l.id {
		p.ledger, p.charge.holds = l.id, p.charge.holds[:0]
		p.charge.holders, p.charge.releasing, p.charge.standIns = nil, nil, nil
	}
}
