// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNotHeld says that a holder released a part that it does not hold. A double release is a bug of the caller, so it is always reported.
var ErrNotHeld = errors.New("the holder does not hold the part")

// ErrView says that a view was asked for a change that only its base supports.
var ErrView = errors.New("a view supports charges and releases only")

// ErrHeld says that a caller tried to change a ledger that Held returned.
var ErrHeld = errors.New("the ledger that includes what releasing holders hold is read-only: change the ledger itself")

// ErrAllocated says that a caller tried to add amounts to an account that only charges change.
var ErrAllocated = errors.New("only charges change the account")

// Charged reports whether the part has a holder.
func (l *Ledger) Charged(p *Part) bool {
	return len(l.holds(p)) > 0
}

// Payer returns the queue that the part is charged to, and the holder that pays for it. It returns false if the part is not charged.
func (l *Ledger) Payer(p *Part) (QueueID, Holder, bool) {
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

// manyHolders is the number of holders above which a part keeps a set of them. Each pod that shares a claim asks whether it holds it.
const manyHolders = 16

func (l *Ledger) indexOf(p *Part, holder Holder) int {
	if l.overlay == nil && !l.held && p.ledger == l.id && p.charge.holders != nil && !p.charge.holders[holder] {
		return -1
	}
	return slices.IndexFunc(l.holds(p), func(h hold) bool { return h.holder == holder })
}

// Charge makes holder, which belongs to queue q, a holder of every part of the demand. It charges a part without other holders to q and its
// ancestors. A part with other holders, including releasing ones, stays charged to its current queue until the last holder is gone. A
// charge never moves to a queue that was not asked. Charging a holder again has no effect. Charge does not check limits, because it also
// records amounts already in use. On error, nothing changes. The error is ErrOverflow, ErrHeld, or ErrOpen for a part with alternatives.
func (l *Ledger) Charge(q QueueID, holder Holder, d Demand) error {
	return l.chargeAll(hold{holder: holder, queue: q}, d)
}

// Pipeline is Charge for a holder that is promised the demand but does not hold it yet. All checks count promised amounts, so no other
// pod gets them. The account Allocated does not include them. A part is promised while its payer is a holder that Pipeline added.
func (l *Ledger) Pipeline(q QueueID, holder Holder, d Demand) error {
	return l.chargeAll(hold{holder: holder, queue: q, pipelined: true}, d)
}

func (l *Ledger) chargeAll(h hold, d Demand) error {
	if err := l.checkChange(h, d); err != nil {
		return fmt.Errorf("charge of holder %s to queue %s: %w", h.holder, l.queues[h.queue].name, err)
	}
	for _, p := range d {
		if l.Holds(p, h.holder) {
			continue
		}
		joined := h
		joined.queue = l.payingQueue(p, h.queue)
		if !l.Charged(p) {
			l.shiftReleasing(p, p.amounts, true)
			l.shiftFor(joined, p.amounts, false)
		}
		l.addHold(p, joined)
		l.noteStandIn(p)
	}
	return nil
}

// payingQueue returns the queue that a part is charged to, even if only a releasing holder holds it. A part without holders
// is charged to the queue of the new holder.
func (l *Ledger) payingQueue(p *Part, joining QueueID) QueueID {
	switch c := l.record(p); {
	case len(c.holds) > 0:
		return c.holds[0].queue
	case len(c.releasing) > 0:
		return c.releasing[0].queue
	default:
		return joining
	}
}

// Release removes the holder from the holders of the part. If other holders remain, the same queue stays charged.
// Otherwise, Release gives back exactly the charged amounts. On error, nothing changes. The error is ErrNotHeld or ErrHeld.
func (l *Ledger) Release(p *Part, holder Holder) error {
	if l.held {
		return fmt.Errorf("release by holder %s: %w", holder, ErrHeld)
	}
	i := l.indexOf(p, holder)
	if i < 0 {
		return fmt.Errorf("release by holder %s: %w", holder, ErrNotHeld)
	}
	c := l.charge(p)
	from := c.holds[0]
	if i > 0 {
		l.dropHold(p, i)
		return nil
	}
	l.shiftFor(from, c.amounts, true)
	if len(c.holds) > 1 {
		l.shiftFor(c.holds[1], c.amounts, false)
	} else {
		l.shiftReleasing(p, c.amounts, false)
	}
	l.dropHold(p, 0)
	return nil
}

// shiftFor adds amounts to the charges of a payer's queue, or subtracts them.
func (l *Ledger) shiftFor(payer hold, as Amounts, negative bool) {
	l.shift(payer.queue, charged, as, negative)
	if payer.pipelined {
		l.shift(payer.queue, Pipelined, as, negative)
	}
}

// checkChange returns an error if the demand cannot be charged for a holder.
func (l *Ledger) checkChange(h hold, d Demand) error {
	switch {
	case l.held:
		return ErrHeld
	case slices.ContainsFunc(d, (*Part).open):
		return ErrOpen
	default:
		return l.checkCharge(h.queue, d)
	}
}

// checkCharge returns ErrOverflow if the demand cannot be charged to q and its ancestors.
func (l *Ledger) checkCharge(q QueueID, d Demand) error {
	if len(d) == 1 {
		return l.checkOverflow(q, l.askedAlone(q, d[0])) // for speed alone: most demands have one part
	}
	var buffer [maxDimensions]Entry
	asked, err := l.asked(q, d, &buffer)
	if err != nil {
		return err
	}
	return l.checkOverflow(q, asked)
}

// checkOverflow returns ErrOverflow if amounts cannot be added to the charges of q or its ancestors. It counts releasing holders.
func (l *Ledger) checkOverflow(q QueueID, as Amounts) error {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range as {
			sum, err := l.balance(id, charged, e.Dimension).Add(l.balance(id, Releasing, e.Dimension))
			if err == nil {
				_, err = sum.Add(e.Amount)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ReleaseHeld releases the parts of the demand that the holder holds, and leaves the others alone. Its errors are the errors of Release.
func (l *Ledger) ReleaseHeld(holder Holder, d Demand) error {
	for _, p := range d {
		if !l.Holds(p, holder) {
			continue
		}
		if err := l.Release(p, holder); err != nil {
			return err
		}
	}
	return nil
}

// Amend changes the amounts of a part and, if the part is charged, its charge. It copies the list. It does not check
// limits. On error, nothing changes. The error is ErrOverflow, ErrOpen for a part with alternatives, or ErrView in a view.
func (l *Ledger) Amend(p *Part, to Amounts) error {
	if l.overlay != nil || l.held {
		return fmt.Errorf("amend a part: %w", ErrView)
	}
	if p.open() {
		return fmt.Errorf("amend a part: %w", ErrOpen)
	}
	before, isCharged := p.amounts, l.Charged(p)
	if isCharged {
		before = p.charge.amounts
	}
	if p.Is(to) && before.is(to) {
		return nil
	}
	to = to.copied()
	payers := l.record(p).releasing
	shift := func(as Amounts, negative bool) { l.shiftReleasing(p, as, negative) }
	if isCharged {
		payers = p.charge.holds
		shift = func(as Amounts, negative bool) { l.shiftFor(payers[0], as, negative) }
	}
	if len(payers) > 0 {
		shift(before, true)
		if err := l.checkOverflow(payers[0].queue, to); err != nil {
			shift(before, false)
			return fmt.Errorf("amend a charge of queue %s: %w", l.queues[payers[0].queue].name, err)
		}
		shift(to, false)
	}
	p.amounts = to
	if isCharged {
		p.charge.amounts = to
	}
	return nil
}

// Frees returns the amounts that a release of the whole demand by the holder would give back. Only parts without other
// holders count. If the sum overflows, Frees returns nil.
func (l *Ledger) Frees(holder Holder, d Demand) Amounts {
	var freed Amounts
	for i, p := range d {
		c := l.charge(p)
		if len(c.holds) != 1 || c.holds[0].holder != holder || slices.Contains(d[:i], p) {
			continue
		}
		sum, err := freed.PlusAll(c.amounts)
		if err != nil {
			return nil
		}
		freed = sum
	}
	return freed
}
