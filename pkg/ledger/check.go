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
		for j := range p.amounts {
			e := &p.amounts[j]
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
		return l.refusal(q, short.Dimension, requested, total)
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
	if l.total == nil || !alone && l.queues[q].parent != none {
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
		a := p.amounts.Of(e.Dimension)
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

func (l *Ledger) refusal(q QueueID, o Ordinal, requested, total Amount) *Refusal {
	capability, guaranteed := l.origin(q, o)
	return &Refusal{
		Queue: l.queues[q].name, Dimension: l.dimensions.Dimension(o),
		Requested: requested, WouldBe: total, Limit: capability, Guaranteed: guaranteed,
	}
}

// origin returns the capability that the limit of a queue comes from, and how much of that
// capability is guaranteed to other queues; the difference is the limit, which must be set. The
// capability is the queue's own, that of the nearest ancestor that has one, or the cluster's total.
func (l *Ledger) origin(q QueueID, o Ordinal) (capability, guaranteed Amount) {
	limit := l.limitAt(q, o).Amount
	if l.forbidden(q, o) {
		return limit, Amount{}
	}
	id := q
	for id != none && l.Capability(id, o) != l.Limit(id, o) {
		id = l.queues[id].parent
	}
	if id != none {
		capability = l.queues[id].capability[o].Amount
	} else {
		capability = l.total.Of(o)
	}
	guaranteed, err := capability.Sub(limit)
	if err != nil || guaranteed.Sign() < 0 {
		// The queue's own guarantee is more than its ancestors have.
		return limit, Amount{}
	}
	return capability, guaranteed
}
