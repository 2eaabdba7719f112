package ledger

import "slices"

// Fits is nil when queue q and each of its ancestors can carry the demand on top of what
// they have, and else a refusal by the lowest queue, and in it for the first dimension, that
// cannot. Parts that are charged already cost nothing more.
// Of parts with alternatives at least one must fit, all of them together, see Choose. The
// error is ErrOverflow or ErrTooManyAlternatives; the demand then does not fit anything. Without
// alternatives, Fits does not allocate.
func (l *Ledger) Fits(q QueueID, d Demand) (*Refusal, error) {
	for _, p := range d {
		if l.open(p) {
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
		if short, err := l.lacks(id, d, false); err != nil {
			return nil, err
		} else if short != nil {
			return l.refuse(id, d, short), nil
		}
	}
	return nil, nil
}

// FitsAlone reports whether the queue can carry the demand, whatever its ancestors have and
// without any alternatives. An overflow does not fit.
func (l *Ledger) FitsAlone(q QueueID, d Demand) bool {
	short, err := l.lacks(q, d, true)
	return err == nil && short == nil
}

// lacks returns the first entry of the demand for which the queue has no room, nil when it has
// room for all. It is asked for every pod at every level, so what is rare is left to others.
func (l *Ledger) lacks(q QueueID, d Demand, alone bool) (*Entry, error) {
	limits := l.effective(q, alone)
	for i, p := range d {
		if l.Charged(p) {
			continue
		}
		for j := range p.Amounts {
			e := &p.Amounts[j]
			limit := &unlimited
			if int(e.Dimension) < len(limits) {
				limit = &limits[e.Dimension]
			} else if l.cannotExist(q, e.Dimension, alone) {
				limit = &nothing
			}
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
			total, err := l.Balance(q, Allocated, e.Dimension).Add(requested)
			if err != nil {
				return nil, err
			}
			if limit.exceededBy(total) && requested.Sign() > 0 {
				return e, nil
			}
		}
	}
	return nil, nil
}

// effective is the limits that count for a queue alone, or together with its ancestors.
func (l *Ledger) effective(q QueueID, alone bool) []Limit {
	if alone {
		return l.queues[q].limits
	}
	return l.queues[q].binding
}

// refuse works out the numbers of a refusal, which is not needed while all is well.
func (l *Ledger) refuse(q QueueID, d Demand, short *Entry) *Refusal {
	for i := range d {
		requested, first, err := l.requested(d, i, short)
		if err != nil || !first || requested.Sign() <= 0 {
			continue
		}
		total, _ := l.Balance(q, Allocated, short.Dimension).Add(requested)
		return l.refusal(q, short.Dimension, requested, total, l.limitAt(q, short.Dimension))
	}
	return nil
}

// limitAt is the limit that counts for a queue together with its ancestors.
func (l *Ledger) limitAt(q QueueID, o Ordinal) *Limit {
	switch limits := l.queues[q].binding; {
	case int(o) < len(limits):
		return &limits[o]
	case l.cannotExist(q, o, false):
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
// queue says so. A card that was not known then is on nobody's list.
func (l *Ledger) cannotExist(q QueueID, o Ordinal, alone bool) bool {
	d := l.dimensions.names[o]
	if d.Kind == Card {
		return l.forbidden(q, o)
	}
	if !l.closed || !alone && l.queues[q].parent != none {
		return false
	}
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

// FitsInqueue is nil when a job that needs at least these amounts can be let into the queue:
// on top of what the queue and each of its ancestors have allocated or let in already, less
// what jobs hold beyond their need. Refusal and error are those of Fits.
func (l *Ledger) FitsInqueue(q QueueID, minimum Amounts) (*Refusal, error) {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range minimum {
			limit := l.limitAt(id, e.Dimension)
			if !limit.Set || e.Amount.Sign() <= 0 {
				continue
			}
			total, err := l.committed(id, e.Dimension)
			if err == nil {
				total, err = total.Add(e.Amount)
			}
			if err != nil {
				return nil, err
			}
			if limit.exceededBy(total) {
				return l.refusal(id, e.Dimension, e.Amount, total, limit), nil
			}
		}
	}
	return nil, nil
}

// FitsInqueueTimes is FitsInqueue for a minimum and n times some other amounts.
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

// RoomInqueue returns for how many of some like amounts, at most that many, there is room besides a
// minimum, by the rules of FitsInqueue.
func (l *Ledger) RoomInqueue(q QueueID, minimum, each Amounts, most int64) (int64, error) {
	fits := int64(0)
	for fits < most {
		n := most - (most-fits)/2
		refusal, err := l.FitsInqueueTimes(q, minimum, each, n)
		switch {
		case err != nil:
			return 0, err
		case refusal != nil:
			most = n - 1
		default:
			fits = n
		}
	}
	return fits, nil
}

// committed is what cannot be given to a further job.
func (l *Ledger) committed(q QueueID, o Ordinal) (Amount, error) {
	sum, err := l.Balance(q, Allocated, o).Add(l.Balance(q, Inqueue, o))
	if err != nil {
		return Amount{}, err
	}
	return sum.Sub(l.Balance(q, Elastic, o))
}

func (l *Ledger) refusal(q QueueID, o Ordinal, requested, total Amount, limit *Limit) *Refusal {
	return &Refusal{
		Queue: l.queues[q].name, Dimension: l.dimensions.Dimension(o),
		Requested: requested, WouldBe: total, Limit: limit.Amount,
	}
}
