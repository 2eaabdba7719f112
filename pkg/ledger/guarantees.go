// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Uncovered is a guarantee that cannot be kept: together, a queue and its siblings are guaranteed, or
// have to keep for their children, more than their parent, or the cluster, can have.
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

func (l *Ledger) findUncovered(reserved []Amounts) {
	for i := range l.queues {
		id, q := QueueID(i), &l.queues[i]
		for _, e := range q.reserved {
			above, sum := l.above(id, e.Dimension), reserved[l.siblings(id)].Of(e.Dimension)
			if e.Amount.Sign() <= 0 || !above.exceededBy(sum) {
				continue
			}
			// If the queue guarantees nothing itself and could not have that much even alone, the guarantees of
			// its children are reported.
			if q.guarantee.Of(e.Dimension).Sign() > 0 || !above.exceededBy(e.Amount) {
				l.uncovered = append(l.uncovered, Uncovered{
					Queue: id, Dimension: l.dimensions.Dimension(e.Dimension), Sum: sum, Limit: above.Amount,
				})
			}
		}
	}
}

// cutGuarantees cuts what each queue is guaranteed to its own capability, and to nothing where the queue must not use the
// dimension. Otherwise, siblings would have to leave what nobody can use.
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

// reserve computes what is reserved for each queue. Parents come before children in l.queues.
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

// atLeast returns the amounts with at least as much of a dimension as the entry has. It copies the list
// if it changes.
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

// reservedTogether returns what is reserved for each group of siblings; siblings returns the index of a group.
func (l *Ledger) reservedTogether() []Amounts {
	sums := make([]Amounts, len(l.queues)+1)
	for i := range l.queues {
		group := l.siblings(QueueID(i))
		sums[group] = addGuarantee(sums[group], l.queues[i].reserved)
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
