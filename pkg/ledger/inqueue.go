// SPDX-License-Identifier: Apache-2.0

package ledger

// FitsInqueue returns nil if a job that needs at least these amounts can enter the queue. For each
// amount, allocated + inqueue - elastic + amount <= limit, at the queue and at each of its
// ancestors. Refusal and error are those of Fits.
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

// FitsInqueueTimes is FitsInqueue for a minimum and n times each of some other amounts.
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

// committed returns what the queue cannot give to a further job.
func (l *Ledger) committed(q QueueID, o Ordinal) (Amount, error) {
	sum, err := l.used(q, o).Add(l.balance(q, Inqueue, o))
	if err != nil {
		return Amount{}, err
	}
	return sum.Sub(l.balance(q, Elastic, o))
}

// committedWith returns the same with a further job that needs an amount.
func (l *Ledger) committedWith(q QueueID, o Ordinal, amount Amount) (Amount, error) {
	sum, err := l.committed(q, o)
	if err != nil {
		return Amount{}, err
	}
	return sum.Add(amount)
}

// accounts returns what committed adds up.
func (l *Ledger) accounts(q QueueID, o Ordinal) *Committed {
	return &Committed{Allocated: l.Balance(q, Allocated, o), Inqueue: l.Balance(q, Inqueue, o), Elastic: l.Balance(q, Elastic, o)}
}
