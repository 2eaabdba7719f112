// SPDX-License-Identifier: Apache-2.0

package ledger

// MayReclaim reports whether the queue may take resources back from other queues for the demand. The queue must stay
// within its deserved amount in at least one dimension of the demand.
func (l *Ledger) MayReclaim(q QueueID, d Demand) bool {
	var buffer [maxDimensions]Entry
	asked, err := l.asked(q, d, &buffer)
	if err != nil {
		return false
	}
	for _, e := range asked {
		deserved := l.Deserved(q, e.Dimension)
		if !deserved.Set || e.Amount.Sign() <= 0 || l.dimensions.names[e.Dimension].uncapped() {
			continue
		}
		total, err := l.used(q, e.Dimension).Add(e.Amount)
		if err == nil && !deserved.exceededBy(total) {
			return true
		}
	}
	return false
}

// MayLose reports whether other queues may take these amounts back from the queue. The queue must keep its guarantee.
// It must also exceed its deserved amount in one of the dimensions, or deserve nothing in all of them.
func (l *Ledger) MayLose(q QueueID, as Amounts) bool {
	for _, e := range l.queues[q].guarantee {
		if e.Amount.Sign() <= 0 {
			continue
		}
		kept, err := l.used(q, e.Dimension).Sub(as.Of(e.Dimension))
		if err != nil || kept.Cmp(e.Amount) < 0 {
			return false
		}
	}
	deservesAny := false
	for _, e := range as {
		deserved := l.Deserved(q, e.Dimension)
		if !deserved.Set || e.Amount.Sign() <= 0 {
			continue
		}
		if deserved.exceededBy(l.used(q, e.Dimension)) {
			return true
		}
		deservesAny = deservesAny || deserved.Amount.Sign() > 0
	}
	return !deservesAny
}

// Exceeds reports whether the queue, or an ancestor, has more than it deserves of one of these amounts.
func (l *Ledger) Exceeds(q QueueID, as Amounts) bool {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range as {
			if deserved := l.Deserved(id, e.Dimension); deserved.Set && deserved.exceededBy(l.used(id, e.Dimension)) {
				return true
			}
		}
	}
	return false
}

// Bottleneck returns the lowest proper ancestor of the queue without room for the demand. It returns false if all have
// room. Only resources given back below the bottleneck make room there.
func (l *Ledger) Bottleneck(q QueueID, d Demand) (QueueID, bool) {
	for id := l.queues[q].parent; id != none; id = l.queues[id].parent {
		if !l.FitsAlone(id, d) {
			return id, true
		}
	}
	return none, false
}
