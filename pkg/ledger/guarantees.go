// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Uncovered is a guarantee that cannot be kept. A queue and its siblings are guaranteed, or reserve for their children,
// more than their parent or the cluster can have.
type Uncovered struct {
	Queue     QueueID
	Dimension Dimension
	// Sum is the total that the siblings reserve. Limit is the amount that they can have together.
	Sum, Limit Amount
}

// Uncovered returns the guarantees that cannot be kept, or nil if all can be kept.
func (l *Ledger) Uncovered() []Uncovered {
	return l.uncovered
}

func (l *Ledger) findUncovered(reserved []Amounts) {
	for i := range l.queues {
		id, q := QueueID(i), &l.queues[i]
		for _, e := range q.reserved {
			above, sum := l.above(id, e.Dimension), reserved[l.siblings(id)].Of(e.Dimension)
			if e.Amount.Sign() <= 0 || !above.exceededBy(sum) {
				continue
			}
			// Report the children instead, if only they have guarantees and the amount does not fit even without the siblings.
			if q.guarantee.Of(e.Dimension).Sign() > 0 || !above.exceededBy(e.Amount) {
				l.uncovered = append(l.uncovered, Uncovered{
					Queue: id, Dimension: l.dimensions.Dimension(e.Dimension), Sum: sum, Limit: above.Amount,
				})
			}
		}
	}
}

// cutGuarantees cuts the guarantee of each queue to its own capability, and to zero where the queue must not use the
// dimension. Otherwise, siblings would leave amounts unused that no queue can use.
func (l *Ledger) cutGuarantees() {
	for i := range l.queues {
		q := &l.queues[i]
		for j := range q.guarantee {
			e := &q.guarantee[j]
			if l.forbidden(QueueID(i), e.Dimension) {
				e.Amount = Amount{}
			} else if own := at(q.capability, e.Dimension); own.exceededBy(e.Amount) {
				e.Amount = own.Amount
			}
		}
	}
}

// reserve computes the reserved amounts of each queue. In l.queues, parents come before children.
func (l *Ledger) reserve() {
	ofChildren := make([]Amounts, len(l.queues))
	for i := len(l.queues) - 1; i >= 0; i-- {
		q := &l.queues[i]
		q.reserved = q.guarantee
		for _, e := range ofChildren[i] {
			if own := at(q.capability, e.Dimension); own.exceededBy(e.Amount) {
				e.Amount = own.Amount
			}
			q.reserved = q.reserved.atLeast(e)
		}
		if q.parent != none {
			ofChildren[q.parent] = addGuarantee(ofChildren[q.parent], q.reserved)
		}
	}
}

// atLeast raises one dimension of the amounts to the entry, if it is lower. It copies a list before it changes it.
func (as Amounts) atLeast(e Entry) Amounts {
	i := slices.IndexFunc(as, func(own Entry) bool { return own.Dimension == e.Dimension })
	switch {
	case e.Amount.Sign() <= 0:
	case i < 0:
		as = append(slices.Clip(as), e)
	case as[i].Amount.Cmp(e.Amount) < 0:
		as = as.copied()
		as[i] = e
	}
	return as
}

// reservedTogether returns the reserved amounts of each group of siblings. The method siblings returns the index of a group.
func (l *Ledger) reservedTogether() []Amounts {
	sums := make([]Amounts, len(l.queues)+1)
	for i := range l.queues {
		group := l.siblings(QueueID(i))
		sums[group] = addGuarantee(sums[group], l.queues[i].reserved)
	}
	return sums
}

// siblings returns the index of the group of queues with the same parent as q. The topmost queues are the last group.
func (l *Ledger) siblings(q QueueID) int {
	if parent := l.queues[q].parent; parent != none {
		return int(parent)
	}
	return len(l.queues)
}

// addGuarantee adds a guarantee to a sum. If the sum overflows, it becomes the largest amount. Both exceed any cluster,
// so they leave nothing.
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
