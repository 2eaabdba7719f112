package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNotHeld says that something was released that its holder did not hold: a double
// release, which is a bug of the caller and is never hidden.
var ErrNotHeld = errors.New("released what is not held")

// Charged reports whether somebody holds the part.
func (l *Ledger) Charged(p *Part) bool {
	return len(l.holds(p)) > 0
}

// Carrier returns the queue in which the part is charged and the holder that it is charged for;
// false when it is not charged.
func (l *Ledger) Carrier(p *Part) (QueueID, Holder, bool) {
	holds := l.holds(p)
	if len(holds) == 0 {
		return none, "", false
	}
	return holds[0].queue, holds[0].holder, true
}

// Holds reports whether the holder holds the part.
func (l *Ledger) Holds(p *Part, holder Holder) bool {
	return l.indexOf(p, holder) >= 0
}

func (l *Ledger) indexOf(p *Part, holder Holder) int {
	return slices.IndexFunc(l.holds(p), func(h hold) bool { return h.holder == holder })
}

// Charge makes holder, of queue q, a holder of every part of the demand. A part that
// nobody held is charged to q and its ancestors; a part that others hold already stays
// where it stands. Holding the same part twice is holding it once. Charge does not check
// limits: what is in use is in use. On error (ErrOverflow, or ErrOpen for a part with
// alternatives) nothing is changed.
func (l *Ledger) Charge(q QueueID, holder Holder, d Demand) error {
	if slices.ContainsFunc(d, l.open) {
		return fmt.Errorf("charge of holder %s to queue %s: %w", holder, l.queues[q].name, ErrOpen)
	}
	if err := l.checkOverflow(q, d); err != nil {
		return fmt.Errorf("charge of holder %s to queue %s: %w", holder, l.queues[q].name, err)
	}
	for _, p := range d {
		if !l.Charged(p) {
			l.shift(q, Allocated, p.Amounts, false)
		} else if l.Holds(p, holder) {
			continue
		}
		l.addHold(p, hold{holder: holder, queue: q})
	}
	return nil
}

// checkOverflow reports whether the demand can be charged to q and its ancestors at all.
func (l *Ledger) checkOverflow(q QueueID, d Demand) error {
	for i, p := range d {
		for j := range p.Amounts {
			e := &p.Amounts[j]
			requested, first, err := l.requested(d, i, e)
			if err != nil {
				return err
			}
			for id := q; first && id != none; id = l.queues[id].parent {
				if _, err := l.Balance(id, Allocated, e.Dimension).Add(requested); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Release ends the holder's hold on the part. When it was the first of several, the charge
// moves to the queue of the next one, whatever that queue's limits; when it was the last,
// the charge is refunded. What is refunded is exactly what was charged. On error
// (ErrNotHeld, or ErrOverflow in a move) nothing is changed.
func (l *Ledger) Release(p *Part, holder Holder) error {
	i := l.indexOf(p, holder)
	if i < 0 {
		return fmt.Errorf("holder %s: %w", holder, ErrNotHeld)
	}
	holds := l.holds(p)
	from := holds[0].queue
	if i > 0 || len(holds) > 1 && holds[1].queue == from {
		l.dropHold(p, i)
		return nil
	}
	if len(holds) == 1 {
		l.shift(from, Allocated, p.Amounts, true)
		l.dropHold(p, 0)
		return nil
	}
	to := holds[1].queue
	l.shift(from, Allocated, p.Amounts, true)
	if err := l.checkOverflow(to, Demand{{Amounts: p.Amounts}}); err != nil {
		l.shift(from, Allocated, p.Amounts, false)
		return fmt.Errorf("charge moving from queue %s to queue %s: %w", l.queues[from].name, l.queues[to].name, err)
	}
	l.dropHold(p, 0)
	l.shift(to, Allocated, p.Amounts, false)
	return nil
}

// Amend changes what a part comes to, in the account of its queue, too, if it is charged. It does
// not check limits. On error (ErrOverflow) nothing is changed. Amending in a view is not
// supported.
func (l *Ledger) Amend(p *Part, to Amounts) error {
	carrier, _, charged := l.Carrier(p)
	if !charged {
		p.Amounts = to
		return nil
	}
	l.shift(carrier, Allocated, p.Amounts, true)
	if err := l.checkOverflow(carrier, Demand{{Amounts: to}}); err != nil {
		l.shift(carrier, Allocated, p.Amounts, false)
		return fmt.Errorf("amend a charge of queue %s: %w", l.queues[carrier].name, err)
	}
	p.Amounts = to
	l.shift(carrier, Allocated, to, false)
	return nil
}

// Frees returns what would be given back if the holder released the whole demand: the
// parts that nobody else holds. An overflow counts as nothing.
func (l *Ledger) Frees(holder Holder, d Demand) Amounts {
	var freed Amounts
	for i, p := range d {
		if holds := l.holds(p); len(holds) != 1 || holds[0].holder != holder || slices.Contains(d[:i], p) {
			continue
		}
		sum, err := freed.PlusAll(p.Amounts)
		if err != nil {
			return nil
		}
		freed = sum
	}
	return freed
}
