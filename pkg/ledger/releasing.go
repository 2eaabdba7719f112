// SPDX-License-Identifier: Apache-2.0

package ledger

import "fmt"

// Held returns this ledger with the amounts that releasing holders still hold, see [Ledger.Retain]. All checks against a
// capability count them. A part that only a releasing holder holds is charged. Held copies nothing. The result shows every
// later change of this ledger and is read-only (ErrHeld).
func (l *Ledger) Held() *Ledger {
	held := *l
	held.held = true
	return &held
}

// usedOf returns how much of a limit a queue and its descendants use. Resources of releasing holders count only beyond the promised amounts,
// because promised pods get these resources. They do not count at all if the limit is the cluster's total. They are on nodes that have no room for
// other pods, and counting them would delay pods that take back deserved amounts. See
// refuseBesideReleasing.
func (l *Ledger) usedOf(limit *Limit, q QueueID, o Ordinal) Amount {
	if !l.held || l.dimensions.names[o].Kind != Resource {
		return l.used(q, o)
	}
	if l.total != nil && limit.Amount == l.total.Of(o) {
		return l.balance(q, charged, o)
	}
	return l.heldOf(q, o)
}

// heldOf returns what a queue and its descendants have of a resource, with what releasing holders still have beside what others are promised.
func (l *Ledger) heldOf(q QueueID, o Ordinal) Amount {
	all := l.balance(q, charged, o)
	beyond, _ := l.balance(q, Releasing, o).Sub(l.balance(q, Pipelined, o)) // charges have checked both sums
	if beyond.Sign() > 0 {
		all, _ = all.Add(beyond)
	}
	return all
}

// refuseBesideReleasing refuses resources that exceed the own capability of a queue together with what releasing holders hold. It returns nil if
// they fit, or if this ledger does not count releasing holders. usedOf ignores releasing holders where the limit is the cluster's total. The nodes
// may have less than the capability of a queue for a while, and the capability of root replaces the total.
func (l *Ledger) refuseBesideReleasing(q QueueID, asked Amounts) (*Refusal, error) {
	if !l.held {
		return nil, nil
	}
	for _, e := range asked {
		own := l.Capability(q, e.Dimension)
		if !own.Set || e.Amount.Sign() <= 0 || l.dimensions.names[e.Dimension].Kind != Resource {
			continue
		}
		total, err := l.heldOf(q, e.Dimension).Add(e.Amount)
		if err != nil {
			return nil, err
		}
		if own.exceededBy(total) {
			return &Refusal{
				Queue: l.queues[q].name, Dimension: l.dimensions.Dimension(e.Dimension), Requested: e.Amount, WouldBe: total, Limit: own.Amount,
			}, nil
		}
	}
	return nil, nil
}

// Retain records that a releasing holder, which belongs to queue q, still holds a part that is not charged. Only the ledger that
// [Ledger.Held] returns counts it, while the part is not charged. Retain replaces an earlier releasing holder. If the part is charged,
// Retain does nothing. On error, nothing changes. The error is ErrOverflow, ErrHeld, or ErrOpen for a part with alternatives.
func (l *Ledger) Retain(q QueueID, holder Holder, p *Part) error {
	if l.Charged(p) && !l.held {
		return nil
	}
	h := hold{holder: holder, queue: q}
	if err := l.checkChange(h, Demand{p}); err != nil {
		return fmt.Errorf("retain for holder %s in queue %s: %w", holder, l.queues[q].name, err)
	}
	l.shiftReleasing(p, p.amounts, true)
	l.setReleasing(p, []hold{h})
	l.shiftReleasing(p, p.amounts, false)
	return nil
}

// Forget undoes Retain. Call it if the releasing holder no longer holds the part or is no longer releasing. The error is ErrHeld.
func (l *Ledger) Forget(p *Part) error {
	if l.held {
		return ErrHeld
	}
	if len(l.record(p).releasing) == 0 {
		return nil
	}
	if !l.Charged(p) {
		l.shiftReleasing(p, p.amounts, true)
	}
	l.setReleasing(p, nil)
	return nil
}

// shiftReleasing adds amounts to the Releasing account of the queue of a part's releasing holder, or subtracts them. It
// does nothing if there is no releasing holder.
func (l *Ledger) shiftReleasing(p *Part, as Amounts, negative bool) {
	for _, h := range l.record(p).releasing {
		l.shift(h.queue, Releasing, as, negative)
	}
}
