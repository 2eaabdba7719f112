// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// refuseSplit returns the refusal of the lowest queue without enough room for the groups in short. If no single queue
// refuses, the refusal names q, with the room that q and its ancestors leave.
func (l *Ledger) refuseSplit(q QueueID, minimum Amounts, d *division, short []int) (*Refusal, error) {
	requested := int64(0)
	t := together{ledger: l, minimum: minimum, division: d}
	for _, g := range short {
		requested += d.groups[g].shares * d.groups[g].each
		for _, c := range d.groups[g].among {
			if !slices.Contains(t.among, c) {
				t.among = append(t.among, c)
			}
		}
	}
	for id := q; id != none; id = l.queues[id].parent {
		limited, err := t.limits(id)
		if err != nil {
			return nil, err
		}
		if !limited {
			continue
		}
		if r, err := t.refusal(id, Units(requested)); err != nil || t.usable.Cmp(r.WouldBe) < 0 {
			return r, err
		}
	}
	if err := t.rooms(q); err != nil {
		return nil, err
	}
	return t.refusal(q, Units(requested))
}

// together sums up several dimensions for a refusal.
type together struct {
	ledger   *Ledger
	minimum  Amounts
	division *division
	// among holds indices of dimensions of the division.
	among []int
	// held is the amount that cannot be given to others. usable is the amount that held may grow to. guaranteed is the
	// amount that guarantees to other queues take away from usable.
	held, usable, guaranteed Amount
	// committed holds the terms of held, without the minimum.
	committed Committed
}

// limits sums up the limits of a queue. It returns false if the queue does not limit all dimensions, because then it
// does not limit their sum.
func (t *together) limits(q QueueID) (bool, error) {
	l := t.ledger
	t.held, t.usable, t.guaranteed, t.committed = Amount{}, Amount{}, Amount{}, Committed{}
	for _, c := range t.among {
		o := t.division.dimensions[c]
		limit := l.limitAt(q, o, withAncestors)
		if !limit.Set {
			return false, nil
		}
		_, guaranteed := l.origin(q, o)
		if err := t.add(q, o, limit.Amount, guaranteed); err != nil {
			return false, err
		}
	}
	return true, nil
}

// rooms sums up the room that a queue and all its ancestors leave in each dimension.
func (t *together) rooms(q QueueID) error {
	l := t.ledger
	t.held, t.usable, t.guaranteed, t.committed = Amount{}, Amount{}, Amount{}, Committed{}
	for _, c := range t.among {
		o := t.division.dimensions[c]
		by, available, err := l.tightest(q, o)
		if err != nil {
			return err
		}
		guaranteed := Amount{}
		if available.Set {
			_, guaranteed = l.origin(by, o)
		}
		if err := t.add(q, o, Units(t.division.rooms[c]), guaranteed); err != nil {
			return err
		}
	}
	var err error
	t.usable, err = t.usable.Add(t.held)
	return err
}

func (t *together) add(q QueueID, o Ordinal, usable, guaranteed Amount) error {
	committed, err := t.ledger.committed(q, o)
	if err != nil {
		return err
	}
	accounts := t.ledger.accounts(q, o)
	for _, s := range []struct {
		sum  *Amount
		more Amount
	}{
		{&t.held, committed}, {&t.held, t.minimum.Of(o)}, {&t.usable, usable}, {&t.guaranteed, guaranteed},
		{&t.committed.Allocated, accounts.Allocated}, {&t.committed.Inqueue, accounts.Inqueue}, {&t.committed.Elastic, accounts.Elastic},
	} {
		if *s.sum, err = s.sum.Add(s.more); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the refusal of a request by these sums.
func (t *together) refusal(q QueueID, requested Amount) (*Refusal, error) {
	total, err := t.held.Add(requested)
	if err != nil {
		return nil, err
	}
	limit, err := t.usable.Add(t.guaranteed)
	if err != nil {
		return nil, err
	}
	parts := t.committed
	return &Refusal{
		Queue: t.ledger.queues[q].name, Dimension: t.division.name(t.ledger, t.among),
		Requested: requested, WouldBe: total, Committed: &parts, Limit: limit, Guaranteed: t.guaranteed,
	}, nil
}
