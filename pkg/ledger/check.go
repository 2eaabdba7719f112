package ledger

import "slices"

// Fits reports whether queue q and each of its ancestors can carry the demand on top of
// what they have. Parts that are charged already cost nothing more. When it does not fit,
// the refusal is about the lowest queue, and in it the first dimension, that refused.
// Of parts with alternatives at least one must fit, all of them together, see Choose. The
// error is ErrOverflow or ErrTooManyAlternatives; the demand then does not fit anything. Without
// alternatives, Fits does not allocate.
func (l *Ledger) Fits(q QueueID, d Demand) (Refusal, bool, error) {
	for _, p := range d {
		if l.open(p) {
			_, r, fits, err := l.Choose(q, d)
			return r, fits, err
		}
	}
	return l.fitsClosed(q, d)
}

// fitsClosed is Fits for parts without alternatives.
func (l *Ledger) fitsClosed(q QueueID, d Demand) (Refusal, bool, error) {
	for id := q; id != none; id = l.queues[id].parent {
		if l.queues[id].free {
			continue
		}
		if short, err := l.lacks(id, d, false); err != nil {
			return Refusal{}, false, err
		} else if short != nil {
			return l.refuse(id, d, short), false, nil
		}
	}
	return Refusal{}, true, nil
}

// FitsAlone reports whether the queue can carry the demand, whatever its ancestors have and
// without any alternatives. An overflow does not fit.
func (l *Ledger) FitsAlone(q QueueID, d Demand) bool {
	short, err := l.lacks(q, d, true)
	return err == nil && short == nil
}

// lacks returns the first entry of the demand for which the queue has no room, nil when it has
// room for all.
func (l *Ledger) lacks(q QueueID, d Demand, alone bool) (*Entry, error) {
	if len(d) == 1 && l.Charged(d[0]) {
		return nil, nil
	}
	for i, p := range d {
		for j := range p.Amounts {
			e := &p.Amounts[j]
			limit := l.limitAt(q, e.Dimension, alone)
			if !limit.Set {
				continue
			}
			requested := e.Amount
			if len(d) > 1 {
				sum, first, err := l.requested(d, i, e)
				if err != nil {
					return nil, err
				}
				if !first {
					continue
				}
				requested = sum
			}
			if requested.Sign() <= 0 {
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

// refuse works out the numbers of a refusal, which is not needed while all is well.
func (l *Ledger) refuse(q QueueID, d Demand, short *Entry) Refusal {
	for i := range d {
		requested, first, err := l.requested(d, i, short)
		if err != nil || !first || requested.Sign() <= 0 {
			continue
		}
		total, _ := l.Balance(q, Allocated, short.Dimension).Add(requested)
		return l.refusal(q, short.Dimension, requested, total, l.limitAt(q, short.Dimension, false))
	}
	return Refusal{}
}

// limitAt is the limit that counts for a queue alone, or together with its ancestors.
func (l *Ledger) limitAt(q QueueID, o Ordinal, alone bool) *Limit {
	limits := l.queues[q].binding
	if alone {
		limits = l.queues[q].limits
	}
	switch {
	case int(o) < len(limits):
		return &limits[o]
	case l.cannotExist(q, o, alone):
		return &nothing
	default:
		return &unlimited
	}
}

var (
	unlimited = Limit{}
	nothing   = AtMost(Amount{})
)

// cannotExist reports whether o is a resource that was not known when the ledger was made: there
// is none of it in a cluster whose total is known. Together with its ancestors, the topmost
// queue says so.
func (l *Ledger) cannotExist(q QueueID, o Ordinal, alone bool) bool {
	if !l.closed || !alone && l.queues[q].parent != none {
		return false
	}
	d := l.dimensions.names[o]
	return d.Kind == Resource && !d.uncapped()
}

// requested sums what the uncharged parts of d ask in the dimension of e, an entry of part
// i; first is false when a part before part i asks for it too, so that each dimension is
// looked at once.
func (l *Ledger) requested(d Demand, i int, e *Entry) (sum Amount, first bool, err error) {
	if len(d) == 1 {
		return e.Amount, !l.Charged(d[0]), nil
	}
	for j, p := range d {
		if l.Charged(p) || slices.Contains(d[:j], p) {
			continue
		}
		a := p.Amounts.Of(e.Dimension)
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

// FitsInqueue reports whether a job that needs at least these amounts can be let into the
// queue: on top of what the queue and each of its ancestors have allocated or let in
// already, less what jobs hold beyond their need. Refusal and error are those of Fits.
func (l *Ledger) FitsInqueue(q QueueID, minimum Amounts) (Refusal, bool, error) {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range minimum {
			limit := l.limitAt(id, e.Dimension, false)
			if !limit.Set || e.Amount.Sign() <= 0 {
				continue
			}
			total, err := l.committed(id, e.Dimension)
			if err == nil {
				total, err = total.Add(e.Amount)
			}
			if err != nil {
				return Refusal{}, false, err
			}
			if limit.exceededBy(total) {
				return l.refusal(id, e.Dimension, e.Amount, total, limit), false, nil
			}
		}
	}
	return Refusal{}, true, nil
}

// committed is what cannot be given to a further job.
func (l *Ledger) committed(q QueueID, o Ordinal) (Amount, error) {
	sum, err := l.Balance(q, Allocated, o).Add(l.Balance(q, Inqueue, o))
	if err != nil {
		return Amount{}, err
	}
	return sum.Sub(l.Balance(q, Elastic, o))
}

func (l *Ledger) refusal(q QueueID, o Ordinal, requested, total Amount, limit *Limit) Refusal {
	return Refusal{
		Queue: l.queues[q].name, Dimension: l.dimensions.Dimension(o),
		Requested: requested, WouldBe: total, Limit: limit.Amount,
	}
}
