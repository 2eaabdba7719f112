// SPDX-License-Identifier: Apache-2.0

package ledger

import "fmt"

// Held returns this ledger with what releasing holders still hold, see [Ledger.Retain]: all checks count
// it where a capability is the limit, and a part that only a releasing holder holds is charged. Held copies nothing. What it
// returns shows every later change of this ledger, and is read-only (ErrHeld).
func (l *Ledger) Held() *Ledger {
	held := *l
	held.held = true
	return &held
}

// usedOf returns what a queue and its descendants have used of a limit. Of a resource, what releasing holders still have does not count beside what
// others are promised, who get it from them. It does not count at all if the limit is what the cluster has: it is on their nodes, which have no
// room for others, and somebody who takes back what he deserves would wait otherwise.
func (l *Ledger) usedOf(limit *Limit, q QueueID, o Ordinal) Amount {
	if !l.held || l.dimensions.names[o].Kind != Resource {
		return l.used(q, o)
	}
	all := l.balance(q, charged, o)
	if l.total != nil && limit.Amount == l.total.Of(o) {
		return all
	}
	beyond, _ := l.balance(q, Releasing, o).Sub(l.balance(q, Pipelined, o)) // charges have checked both sums
	if beyond.Sign() > 0 {
		all, _ = all.Add(beyond)
	}
	return all
}

// Retain records that a releasing holder, which belongs to queue q, still holds a part that nobody is
// charged for. Only the ledger that [Ledger.Held] returns counts it, while nobody else is charged for the
// part. It replaces an earlier releasing holder. If the part is charged, Retain does nothing. On
// error nothing is changed: ErrOverflow, ErrHeld, or ErrOpen for a part with alternatives.
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

// Forget undoes Retain: the releasing holder no longer holds the part, or is not releasing any more. The
// error is ErrHeld.
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

// shiftReleasing adds amounts to what the queue of a part's releasing holder has, if there is one, or
// subtracts them again.
func (l *Ledger) shiftReleasing(p *Part, as Amounts, negative bool) {
	for _, h := range l.record(p).releasing {
		l.shift(h.queue, Releasing, as, negative)
	}
}
