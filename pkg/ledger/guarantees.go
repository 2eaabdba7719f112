package ledger

import "slices"

// Uncovered is a guarantee that cannot be kept: together, a queue and its siblings are guaranteed
// more than their parent, or the cluster, can have.
type Uncovered struct {
	Queue     QueueID
	Dimension Dimension
	// Sum is what the siblings are guaranteed together. Limit is what they can have.
	Sum, Limit Amount
}

// Uncovered returns the guarantees that cannot be kept, nil if there are none.
func (l *Ledger) Uncovered() []Uncovered {
	return l.uncovered
}

func (l *Ledger) findUncovered(guaranteed []Amounts) {
	for i := range l.queues {
		id := QueueID(i)
		for _, e := range l.queues[i].guarantee {
			above, sum := l.above(id, e.Dimension), guaranteed[l.siblings(id)].Of(e.Dimension)
			if e.Amount.Sign() > 0 && above.exceededBy(sum) {
				l.uncovered = append(l.uncovered, Uncovered{
					Queue: id, Dimension: l.dimensions.Dimension(e.Dimension), Sum: sum, Limit: above.Amount,
				})
			}
		}
	}
}

// raiseGuarantees makes each queue guarantee at least what its children guarantee together, so that a
// guarantee is kept against the siblings of every ancestor. A queue cannot keep more for its children than
// its capability. Parents come before children in l.queues.
func (l *Ledger) raiseGuarantees() {
	ofChildren := make([]Amounts, len(l.queues))
	for i := len(l.queues) - 1; i >= 0; i-- {
		q := &l.queues[i]
		for _, e := range ofChildren[i] {
			if own := at(q.capability, e.Dimension); own.exceededBy(e.Amount) {
				e.Amount = own.Amount
			}
			q.guarantee = q.guarantee.atLeast(e)
		}
		if q.parent != none {
			ofChildren[q.parent] = addGuarantee(ofChildren[q.parent], q.guarantee)
		}
	}
}

// atLeast returns the amounts with at least as much of a dimension as the entry has. It may change
// and reuse the list.
func (as Amounts) atLeast(e Entry) Amounts {
	i := slices.IndexFunc(as, func(own Entry) bool { return own.Dimension == e.Dimension })
	switch {
	case e.Amount.Sign() <= 0:
	case i < 0:
		as = append(as, e)
	case as[i].Amount.Cmp(e.Amount) < 0:
		as[i] = e
	}
	return as
}

// guaranteedTogether returns what each group of siblings is guaranteed; siblings returns the index
// of a group.
func (l *Ledger) guaranteedTogether() []Amounts {
	sums := make([]Amounts, len(l.queues)+1)
	for i := range l.queues {
		group := l.siblings(QueueID(i))
		sums[group] = addGuarantee(sums[group], l.queues[i].guarantee)
	}
	return sums
}

// siblings returns the index of the group of queues that have the same parent as q. The topmost
// queues are the last group.
func (l *Ledger) siblings(q QueueID) int {
	if parent := l.queues[q].parent; parent != none {
		return int(parent)
	}
	return len(l.queues)
}

// addGuarantee adds a guarantee to a sum. A sum that overflows becomes the largest amount: both are
// more than any cluster has, and leave nothing.
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
