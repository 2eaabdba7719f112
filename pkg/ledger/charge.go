package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNotHeld says that something was released that its holder did not hold: a double
// release, which is a bug of the caller and is never hidden.
var ErrNotHeld = errors.New("released what is not held")

// Holder identifies who holds a part: the UID of a pod.
type Holder string

type hold struct {
	holder Holder
	queue  QueueID
}

// charge is what stands in the accounts under one key: at the queue of the first holder,
// and at its ancestors.
type charge struct {
	amounts Amounts
	holds   []hold
}

// Fits reports whether queue q and each of its ancestors can carry the demand on top of
// what they have. Parts that are charged already cost nothing more. When it does not fit,
// the refusal is about the lowest queue, and in it the first dimension, that refused.
// The error is ErrOverflow; the demand then does not fit anything. Fits does not allocate.
func (l *Ledger) Fits(q QueueID, d Demand) (Refusal, bool, error) {
	for id := q; id != none; id = l.queues[id].parent {
		for i := range d {
			if l.Charged(d[i].Key) {
				continue
			}
			for _, e := range d[i].Amounts {
				requested, first, err := l.requested(d, i, e.Dimension)
				if err != nil {
					return Refusal{}, false, err
				}
				limit := l.Capability(id, e.Dimension)
				if !first || !limit.Set || requested.Sign() <= 0 {
					continue
				}
				total, err := l.Allocated(id, e.Dimension).Add(requested)
				if err != nil {
					return Refusal{}, false, err
				}
				if !limit.admits(total) {
					return Refusal{
						Queue: l.queues[id].name, Dimension: l.dimensions.Dimension(e.Dimension),
						Requested: requested, WouldBe: total, Limit: limit.Amount,
					}, false, nil
				}
			}
		}
	}
	return Refusal{}, true, nil
}

// requested sums what the uncharged parts of d ask of dimension o; first is false when a
// part before part i asks for it too, so that each dimension is looked at once.
func (l *Ledger) requested(d Demand, i int, o Ordinal) (sum Amount, first bool, err error) {
	for j := range d {
		if l.Charged(d[j].Key) || slices.ContainsFunc(d[:j], func(p Part) bool { return p.Key == d[j].Key }) {
			continue
		}
		a := d[j].Amounts.Of(o)
		if a == (Amount{}) {
			continue
		}
		if j < i {
			return Amount{}, false, nil
		}
		if sum, err = sum.Add(a); err != nil {
			return Amount{}, false, err
		}
	}
	return sum, true, nil
}

// Charged reports whether a charge stands under k.
func (l *Ledger) Charged(k Key) bool {
	_, charged := l.charges[k]
	return charged
}

// Charge makes holder, of queue q, a holder of every part of the demand. A part that
// nobody held is charged to q and its ancestors; a part that others hold already stays
// where it stands. Holding the same part twice is holding it once. Charge does not check
// limits: what is in use is in use. On error (ErrOverflow) nothing is changed.
func (l *Ledger) Charge(q QueueID, holder Holder, d Demand) error {
	if err := l.checkOverflow(q, d); err != nil {
		return fmt.Errorf("charge of holder %s to queue %s: %w", holder, l.queues[q].name, err)
	}
	for i := range d {
		c := l.charges[d[i].Key]
		if c == nil {
			c = &charge{amounts: d[i].Amounts}
			l.charges[d[i].Key] = c
			l.post(q, c.amounts)
		}
		if c.index(holder) < 0 {
			c.holds = append(c.holds, hold{holder: holder, queue: q})
		}
	}
	return nil
}

// checkOverflow reports whether the demand can be posted to q and its ancestors at all.
func (l *Ledger) checkOverflow(q QueueID, d Demand) error {
	for i := range d {
		for _, e := range d[i].Amounts {
			requested, _, err := l.requested(d, i, e.Dimension)
			if err != nil {
				return err
			}
			for id := q; id != none; id = l.queues[id].parent {
				if _, err := l.Allocated(id, e.Dimension).Add(requested); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Release ends the holder's hold on the part charged under k. When it was the first of
// several, the charge moves to the queue of the next one, whatever that queue's limits;
// when it was the last, the charge is refunded. What is refunded is exactly what was
// charged. On error (ErrNotHeld, or ErrOverflow in a move) nothing is changed.
func (l *Ledger) Release(k Key, holder Holder) error {
	c := l.charges[k]
	if c == nil || c.index(holder) < 0 {
		return fmt.Errorf("charge %s, holder %s: %w", k, holder, ErrNotHeld)
	}
	i := c.index(holder)
	from := c.holds[0].queue
	if i > 0 || len(c.holds) > 1 && c.holds[1].queue == from {
		c.holds = slices.Delete(c.holds, i, i+1)
		return nil
	}
	l.refund(from, c.amounts)
	if len(c.holds) == 1 {
		delete(l.charges, k)
		return nil
	}
	if err := l.checkOverflow(c.holds[1].queue, Demand{{Amounts: c.amounts}}); err != nil {
		l.post(from, c.amounts)
		return fmt.Errorf("charge %s moving to queue %s: %w", k, l.queues[c.holds[1].queue].name, err)
	}
	c.holds = slices.Delete(c.holds, 0, 1)
	l.post(c.holds[0].queue, c.amounts)
	return nil
}

func (c *charge) index(holder Holder) int {
	return slices.IndexFunc(c.holds, func(h hold) bool { return h.holder == holder })
}

// Holds reports whether the holder holds the part charged under k.
func (l *Ledger) Holds(k Key, holder Holder) bool {
	c := l.charges[k]
	return c != nil && c.index(holder) >= 0
}

// Charges calls yield for every charge that stands, with the name of the queue that carries
// it, in no particular order.
func (l *Ledger) Charges(yield func(Key, string)) {
	for k, c := range l.charges {
		yield(k, l.queues[c.holds[0].queue].name)
	}
}

// post adds the amounts to the accounts of q and its ancestors; checkOverflow has said that
// they fit.
func (l *Ledger) post(q QueueID, as Amounts) {
	for id := q; id != none; id = l.queues[id].parent {
		account := &l.queues[id]
		for _, e := range as {
			account.allocated = grown(account.allocated, e.Dimension)
			account.allocated[e.Dimension], _ = account.allocated[e.Dimension].Add(e.Amount)
		}
	}
}

// refund takes from the accounts exactly what post added, so it cannot overflow.
func (l *Ledger) refund(q QueueID, as Amounts) {
	for id := q; id != none; id = l.queues[id].parent {
		account := &l.queues[id]
		for _, e := range as {
			account.allocated[e.Dimension], _ = account.allocated[e.Dimension].Sub(e.Amount)
		}
	}
}
