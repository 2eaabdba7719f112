// SPDX-License-Identifier: Apache-2.0

package ledger

// Available returns how much of one dimension the queue and all its ancestors leave for another job, by the rule of
// FitsInqueue. This is the smallest of limit - (allocated + inqueue - elastic). It is negative if a limit was lowered
// below the amount in use, and not set if nothing limits the dimension. The error is ErrOverflow.
func (l *Ledger) Available(q QueueID, o Ordinal) (Limit, error) {
	_, available, err := l.tightest(q, o)
	return available, err
}

// tightest returns the queue that leaves the least for another job, and the amount it leaves. Ties go to the lowest queue.
func (l *Ledger) tightest(q QueueID, o Ordinal) (QueueID, Limit, error) {
	by, available := none, Limit{}
	for id := q; id != none; id = l.queues[id].parent {
		left, err := l.left(id, o)
		if err != nil {
			return none, Limit{}, err
		}
		if left.Set && (!available.Set || left.Amount.Cmp(available.Amount) < 0) {
			by, available = id, left
		}
	}
	return by, available, nil
}

// left returns how much of one dimension the queue alone leaves for another job: limit - (allocated + inqueue - elastic).
func (l *Ledger) left(q QueueID, o Ordinal) (Limit, error) {
	limit := l.limitAt(q, o, withAncestors)
	if !limit.Set {
		return Limit{}, nil
	}
	committed, err := l.committed(q, o)
	if err != nil {
		return Limit{}, err
	}
	left, err := limit.Amount.Sub(committed)
	return AtMost(left), err
}

// RoomInqueue returns how many times each fits in the queue in addition to a minimum, by the rule of FitsInqueue. The result is at most
// most, and zero if the minimum does not fit. Entries of each that are zero or negative need no room. The error is ErrOverflow.
func (l *Ledger) RoomInqueue(q QueueID, minimum, each Amounts, most int64) (int64, error) {
	if most <= 0 {
		return 0, nil
	}
	if refusal, err := l.FitsInqueue(q, minimum); refusal != nil || err != nil {
		return 0, err
	}
	for _, e := range each {
		if e.Amount.Sign() <= 0 {
			continue
		}
		available, err := l.Available(q, e.Dimension)
		if err != nil {
			return 0, err
		}
		most = roomBeside(minimum.Of(e.Dimension), available).dividedBy(e.Amount, most)
	}
	return most, nil
}

// roomBeside returns how much of the available amount a minimum that fits leaves.
func roomBeside(minimum Amount, available Limit) Amount {
	if !available.Set {
		available.Amount = largest // amounts that cannot be counted do not fit
	}
	if available.Amount.Sign() < 0 {
		available.Amount = Amount{} // a queue that exceeds its limit has room for nothing
	}
	room, err := available.Amount.Sub(minimum)
	if err != nil {
		return largest // the minimum is negative
	}
	return room
}
