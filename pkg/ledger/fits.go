package ledger

// Fits returns nil if queue q and each of its ancestors have room for the demand. Otherwise it
// returns the refusal of the lowest queue that has no room, for the first dimension that is short.
// Parts that are charged already need no room. Of a part with alternatives, at least one must fit,
// together with those of all other parts, see Choose.
//
// The error is ErrOverflow or ErrTooManyAlternatives; the demand then does not fit. Without
// alternatives, Fits does not allocate unless it refuses.
func (l *Ledger) Fits(q QueueID, d Demand) (*Refusal, error) {
	for _, p := range d {
		if p.open() {
			_, r, err := l.Choose(q, d)
			return r, err
		}
	}
	return l.fitsClosed(q, d)
}

// fitsClosed is Fits for parts without alternatives.
func (l *Ledger) fitsClosed(q QueueID, d Demand) (*Refusal, error) {
	for id := q; id != none; id = l.queues[id].parent {
		if l.queues[id].free {
			continue
		}
		if short, err := l.lacks(id, d, (*Ledger).limitAt); err != nil {
			return nil, err
		} else if short != nil {
			return l.refuse(id, d, short), nil
		}
	}
	return nil, nil
}

// FitsAlone reports whether the queue has room for the demand, whatever its ancestors have.
// Alternatives do not count. A demand that overflows does not fit.
func (l *Ledger) FitsAlone(q QueueID, d Demand) bool {
	short, err := l.lacks(q, d, (*Ledger).limitAlone)
	return err == nil && short == nil
}

// lacks returns the first entry of the demand for which the queue has no room, and nil if it has
// room for all. For each dimension asked for, allocated + requested <= limit.
func (l *Ledger) lacks(q QueueID, d Demand, limitOf func(*Ledger, QueueID, Ordinal) *Limit) (*Entry, error) {
	for i, p := range d {
		if l.Charged(p) {
			continue
		}
		for j := range p.amounts {
			e := &p.amounts[j]
			limit := limitOf(l, q, e.Dimension)
			if !limit.Set {
				continue
			}
			requested, first, err := l.requested(d, i, e)
			if err != nil {
				return nil, err
			}
			if !first || requested.Sign() <= 0 {
				continue
			}
			total, err := l.Balance(q, Allocated, e.Dimension).Add(requested)
			if err != nil {
				return nil, err
			}
			if limit.exceededBy(total) {
				return e, nil
			}
		}
	}
	return nil, nil
}
