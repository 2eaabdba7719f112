package ledger

import "slices"

// deriveLimits computes, from the top down, what each queue's limits come to: no more than
// its own capability, and no more than what its parent has left beside the guarantees of
// the queue's siblings. Parents come before children in l.queues.
func (l *Ledger) deriveLimits() {
	reserved := make([]Amounts, len(l.queues)+1) // what children are guaranteed; the last is the cluster
	for i := range l.queues {
		slot := l.slot(QueueID(i))
		reserved[slot] = addGuarantee(reserved[slot], l.queues[i].guarantee)
	}
	for i := range l.queues {
		q := &l.queues[i]
		q.limits, q.binding = make([]Limit, len(l.dimensions.names)), make([]Limit, len(l.dimensions.names))
		for o := range q.limits {
			limit := l.leftFor(q, Ordinal(o), reserved[l.slot(QueueID(i))])
			if own := at(q.capability, Ordinal(o)); own.Set && (!limit.Set || limit.Amount.Cmp(own.Amount) > 0) {
				limit = own
			}
			q.limits[o] = limit
			if q.parent == none || limit != l.queues[q.parent].limits[o] {
				q.binding[o] = limit
			}
			if l.forbidden(QueueID(i), Ordinal(o)) {
				q.limits[o], q.binding[o] = nothing, nothing
			}
		}
		q.free = q.lister == none && q.parent != none && !slices.ContainsFunc(q.binding, func(limit Limit) bool { return limit.Set })
		q.deserved = l.effectiveDeserved(q)
	}
	l.findUncovered(reserved)
}

// forbidden reports whether a queue that takes pods must not use a card, because it is not on the
// list that holds there. Queues that have others below them leave that to those, which may have
// lists of their own.
func (l *Ledger) forbidden(q QueueID, o Ordinal) bool {
	lister := l.queues[q].lister
	return lister != none && l.Leaf(q) && l.dimensions.names[o].Kind == Card && !at(l.queues[lister].capability, o).Set
}

// Uncovered is a guarantee that cannot be kept: a queue and its siblings are guaranteed more,
// in sum, than their parent, or the cluster, can have.
type Uncovered struct {
	Queue     QueueID
	Dimension Dimension
	// Sum is what the siblings are guaranteed, Limit what can be had.
	Sum, Limit Amount
}

// Uncovered returns the guarantees that cannot be kept.
func (l *Ledger) Uncovered() []Uncovered {
	return l.uncovered
}

func (l *Ledger) findUncovered(reserved []Amounts) {
	for i := range l.queues {
		for _, e := range l.queues[i].guarantee {
			above, sum := l.above(&l.queues[i], e.Dimension), reserved[l.slot(QueueID(i))].Of(e.Dimension)
			if e.Amount.Sign() > 0 && above.exceededBy(sum) {
				l.uncovered = append(l.uncovered, Uncovered{
					Queue: QueueID(i), Dimension: l.dimensions.Dimension(e.Dimension), Sum: sum, Limit: above.Amount,
				})
			}
		}
	}
}

// slot is where what the siblings of a queue are guaranteed is added up.
func (l *Ledger) slot(q QueueID) int {
	if parent := l.queues[q].parent; parent != none {
		return int(parent)
	}
	return len(l.queues)
}

// addGuarantee adds a guarantee. Guarantees that overflow are more than any cluster has: what
// is left beside them is nothing, which the largest amount says as well.
func addGuarantee(sum, guarantee Amounts) Amounts {
	for _, e := range guarantee {
		if more, err := sum.Plus(e.Dimension, e.Amount); err == nil {
			sum = more
			continue
		}
		i := slices.IndexFunc(sum, func(s Entry) bool { return s.Dimension == e.Dimension })
		sum[i].Amount = largest
	}
	return sum
}

// leftFor is what a queue's parent, or the cluster, leaves for it beside what is reserved
// for its siblings; with reservations beyond what there is, its own guarantee.
func (l *Ledger) leftFor(q *queue, o Ordinal, reserved Amounts) Limit {
	above := l.above(q, o)
	if !above.Set {
		return Limit{}
	}
	left, err := above.Amount.Sub(reserved.Of(o))
	if err != nil || left.Sign() < 0 {
		left = Amount{}
	}
	if left, err = left.Add(q.guarantee.Of(o)); err != nil {
		return Limit{}
	}
	return AtMost(left)
}

// above is the limit of a queue's parent, or the cluster's.
func (l *Ledger) above(q *queue, o Ordinal) Limit {
	if q.parent != none {
		return l.queues[q.parent].limits[o]
	}
	d := l.dimensions.names[o]
	if l.total == nil || d.Kind != Resource || d.uncapped() {
		return Limit{}
	}
	return AtMost(l.total.Of(o))
}

// effectiveDeserved is what the queue wants as its fair target, but never more than it can
// have, nor less than it is guaranteed.
func (l *Ledger) effectiveDeserved(q *queue) []Limit {
	deserved := q.deserved
	for o := range deserved {
		if limit := at(q.limits, Ordinal(o)); limit.exceededBy(deserved[o].Amount) {
			deserved[o] = limit
		}
	}
	for _, e := range q.guarantee {
		if e.Amount.Sign() <= 0 {
			continue
		}
		deserved = grown(deserved, e.Dimension)
		if d := &deserved[e.Dimension]; !d.Set || e.Amount.Cmp(d.Amount) > 0 {
			*d = AtMost(e.Amount)
		}
	}
	return deserved
}

// at is the limit of a dimension, unlimited when the list does not reach that far.
func at(limits []Limit, o Ordinal) Limit {
	if int(o) >= len(limits) {
		return Limit{}
	}
	return limits[o]
}

// Capability returns the queue's own limit of a dimension, not its ancestors'.
func (l *Ledger) Capability(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].capability, o)
}

// Limit returns what the queue's limit of a dimension comes to, with the cluster's size,
// its ancestors and the guarantees of others: Volcano calls it realCapability.
func (l *Ledger) Limit(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].limits, o)
}

// Deserved returns the queue's fair target of a dimension; it is not set when there is
// none.
func (l *Ledger) Deserved(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].deserved, o)
}

// Dimension returns what an ordinal stands for.
func (l *Ledger) Dimension(o Ordinal) Dimension {
	return l.dimensions.Dimension(o)
}

// Guarantee returns what is reserved for the queue; it is not set when nothing is said of the
// dimension.
func (l *Ledger) Guarantee(q QueueID, o Ordinal) Limit {
	for _, e := range l.queues[q].guarantee {
		if e.Dimension == o {
			return AtMost(e.Amount)
		}
	}
	return Limit{}
}

// Nearest returns the capability of the lowest queue, from q upwards, that lists a
// dimension, and that queue; false when none does.
func (l *Ledger) Nearest(q QueueID, o Ordinal) (QueueID, Amount, bool) {
	for id := q; id != none; id = l.queues[id].parent {
		if own := l.Capability(id, o); own.Set {
			return id, own.Amount, true
		}
	}
	return none, Amount{}, false
}

// Limits reports whether q or an ancestor lists any dimension of that kind in its
// capability.
func (l *Ledger) Limits(q QueueID, kind Kind) bool {
	for id := q; id != none; id = l.queues[id].parent {
		for o, limit := range l.queues[id].capability {
			if limit.Set && l.dimensions.Dimension(Ordinal(o)).Kind == kind {
				return true
			}
		}
	}
	return false
}

// ListsCards reports whether the queue or one above it says which cards may be used.
func (l *Ledger) ListsCards(q QueueID) bool {
	return l.queues[q].lister != none
}
