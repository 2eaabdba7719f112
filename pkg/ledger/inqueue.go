// SPDX-License-Identifier: Apache-2.0

package ledger

// FitsInqueue returns nil if a job with this minimum can enter the queue. The rule is allocated + inqueue - elastic +
// amount <= limit, for each amount, at the queue and at each of its ancestors. Refusal and error are as for Fits.
func (l *Ledger) FitsInqueue(q QueueID, minimum Amounts) (*Refusal, error) {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range minimum {
			limit := l.limitAt(id, e.Dimension, withAncestors)
			if !limit.Set || e.Amount.Sign() <= 0 {
				continue
			}
			total, err := l.committedWith(id, e.Dimension, e.Amount)
			if err != nil {
				return nil, err
			}
			if limit.exceededBy(total) {
				refusal := l.refusal(id, e, total)
				refusal.Committed = l.accounts(id, e.Dimension)
				return refusal, nil
			}
		}
	}
	return nil, nil
}

// FitsInqueueTimes is FitsInqueue for a minimum plus n times other amounts.
func (l *Ledger) FitsInqueueTimes(q QueueID, minimum, each Amounts, n int64) (*Refusal, error) {
	total := append(Amounts(nil), minimum...)
	for _, e := range each {
		all, err := e.Amount.Times(n)
		if err != nil {
			return nil, err
		}
		if total, err = total.Plus(e.Dimension, all); err != nil {
			return nil, err
		}
	}
	return l.FitsInqueue(q, total)
}

// committed returns the amount that the queue cannot give to another job.
func (l *Ledger) committed(q QueueID, o Ordinal) (Amount, error) {
	sum, err := l.used(q, o).Add(l.balance(q, Inqueue, o))
	if err != nil {
		return Amount{}, err
	}
	return sum.Sub(l.balance(q, Elastic, o))
}

// committedWith returns the committed amount plus the need of another job.
func (l *Ledger) committedWith(q QueueID, o Ordinal, amount Amount) (Amount, error) {
	sum, err := l.committed(q, o)
	if err != nil {
		return Amount{}, err
	}
	return sum.Add(amount)
}

// accounts returns the terms of committed.
func (l *Ledger) accounts(q QueueID, o Ordinal) *Committed {
	return &Committed{Allocated: l.Balance(q, Allocated, o), Inqueue: l.Balance(q, Inqueue, o), Elastic: l.Balance(q, Elastic, o)}
}
