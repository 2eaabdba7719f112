// SPDX-License-Identifier: Apache-2.0

package ledger

// Fits returns nil if queue q and each of its ancestors have room for the demand. Otherwise it returns the refusal of
// the lowest queue without room, for the first dimension that lacks room. Charged parts need no room. A part with
// alternatives needs room for one alternative, together with all other parts, see Choose.
//
// If the error is ErrOverflow or ErrTooManyAlternatives, the demand does not fit. Fits does not allocate unless it
// refuses, the demand has alternatives, or several parts ask for more than sixteen dimensions together.
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
	if len(d) == 1 {
		return l.fits(q, l.askedAlone(q, d[0])) // for speed alone: most demands have one part
	}
	var buffer [maxDimensions]Entry
	asked, err := l.asked(q, d, &buffer)
	if err != nil {
		return nil, err
	}
	return l.fits(q, asked)
}

func (l *Ledger) fits(q QueueID, asked Amounts) (*Refusal, error) {
	for id := q; id != none; id = l.queues[id].parent {
		if !l.queues[id].free { // for speed alone: otherwise, there is no limit to compare with
			short, err := l.lacks(id, asked, withAncestors)
			if err != nil {
				return nil, err
			}
			if short != nil {
				return l.refuse(id, short), nil
			}
		}
		if refusal, err := l.refuseBesideReleasing(id, asked); refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// FitsAlone reports whether the queue has room for the demand, regardless of its ancestors. It ignores alternatives. A
// demand that overflows does not fit.
func (l *Ledger) FitsAlone(q QueueID, d Demand) bool {
	var buffer [maxDimensions]Entry
	asked, err := l.asked(q, d, &buffer)
	if err != nil {
		return false
	}
	short, err := l.lacks(q, asked, alone)
	return err == nil && short == nil
}

// lacks returns the first entry that the queue has no room for, or nil if all fit. An entry fits if used + asked <=
// limit. A request for zero always fits, even if the queue exceeds its limit.
func (l *Ledger) lacks(q QueueID, asked Amounts, s scope) (*Entry, error) {
	limits := l.limits(q, s)
	for i := range asked {
		e := &asked[i]
		limit := l.limitIn(limits, q, e.Dimension, s)
		if !limit.Set {
			continue
		}
		total, err := l.usedOf(limit, q, e.Dimension).Add(e.Amount)
		if err != nil {
			return nil, err
		}
		if limit.exceededBy(total) && e.Amount.Sign() > 0 {
			return e, nil
		}
	}
	return nil, nil
}
