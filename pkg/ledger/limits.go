// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// quota holds the limits of one queue, all of them indexed by dimension. What follows holds in
// every ledger and in every dimension. The limit of the parent of a topmost queue is the cluster's
// total.
//
//   - capability, deserved and guarantee are what the administrator wrote; deserved and guarantee are then adapted
//     as described below.
//   - guarantee is at most the capability, and zero where the queue must not use the dimension (see forbidden).
//   - reserved is what siblings must leave: the guarantee or what is reserved for the children
//     together up to the capability, whichever is more. A nested guarantee is so kept against the
//     siblings of every ancestor.
//   - limit is the capability or what the parent leaves, whichever is less, and not set if there is
//     neither. The parent leaves its own limit, less what is reserved for all its children but not
//     less than zero, plus what is reserved for this queue, but not more than its own limit or the
//     guarantee, whichever is more.
//   - A limit exceeds the parent's only if the guarantee of the queue exceeds what the parent has.
//     [Ledger.Uncovered] then reports it.
//   - A card or a device that the queue must not use has a limit of zero (see forbidden).
//   - binding is limit without those limits that equal the parent's. The parent holds at least as
//     much as the queue, so it refuses whatever the queue would refuse, and users need its name.
//     A topmost queue has no parent that refuses: there binding is limit.
//   - lister is the nearest queue, this one first, that lists the cards that may be used; none if no
//     queue does.
//   - deviceQuotaRequired says that devices may be used only where a queue on the way to the root lists their class.
//   - free says that binding is not set in any dimension, including dimensions that are interned
//     later.
//   - deserved is set where the administrator set it or where the guarantee is greater than zero.
//     It is at least the guarantee and, unless that is more, at most the limit.
//   - deservesCards says that deserved is more than zero for some card.
type quota struct {
	capability []Limit
	limit      []Limit
	binding    []Limit
	deserved   []Limit
	guarantee  Amounts
	reserved   Amounts
	lister     QueueID

	deservesCards       bool
	deviceQuotaRequired bool
	free                bool
}

// deriveLimits computes the quota of each queue. Parents come before children in l.queues.
func (l *Ledger) deriveLimits() {
	reserved := l.reservedTogether()
	for i := range l.queues {
		id, q := QueueID(i), &l.queues[i]
		q.limit, q.binding = make([]Limit, len(l.dimensions.names)), make([]Limit, len(l.dimensions.names))
		for o := range q.limit {
			q.limit[o] = l.derivedLimit(id, Ordinal(o), reserved[l.siblings(id)])
			if q.parent == none || q.limit[o] != l.queues[q.parent].limit[o] || l.forbidden(id, Ordinal(o)) {
				q.binding[o] = q.limit[o]
			}
		}
		q.free = q.parent != none && q.lister == none && !q.deviceQuotaRequired && !slices.ContainsFunc(q.binding, func(b Limit) bool { return b.Set })
		q.adaptDeserved()
		q.deservesCards = l.deservesAny(q.deserved, Card)
	}
	l.findUncovered(reserved)
}

func (l *Ledger) derivedLimit(q QueueID, o Ordinal, reserved Amounts) Limit {
	if l.forbidden(q, o) {
		return nothing
	}
	limit := l.leftFor(q, o, reserved)
	if own := at(l.queues[q].capability, o); own.Set && (!limit.Set || limit.Amount.Cmp(own.Amount) > 0) {
		return own
	}
	return limit
}

// forbidden reports whether o is a card that pods of the queue must not use, because the list that
// holds for the queue does not contain it, or devices of a class that no queue on the way to the root lists where
// that is required. A queue with children leaves the decision to them: they may have lists of their own.
func (l *Ledger) forbidden(q QueueID, o Ordinal) bool {
	if !l.Leaf(q) {
		return false
	}
	switch l.dimensions.names[o].Kind {
	case Card:
		lister := l.queues[q].lister
		return lister != none && !at(l.queues[lister].capability, o).Set
	case DeviceCount:
		return l.queues[q].deviceQuotaRequired && !l.ListsClass(q, l.dimensions.names[o].Name)
	default:
		return false
	}
}

// ListsClass reports whether the capability of the queue or of an ancestor lists devices of a class, or a capacity of them.
func (l *Ledger) ListsClass(q QueueID, class string) bool {
	if o, known := l.dimensions.Known(Dimension{Kind: DeviceCount, Name: class}); known {
		if _, _, listed := l.Nearest(q, o); listed {
			return true
		}
	}
	for _, o := range l.dimensions.Capacities(class) {
		if _, _, listed := l.Nearest(q, o); listed {
			return true
		}
	}
	return false
}

// leftFor returns what a queue's parent, or the cluster, leaves for it beside what is reserved for its
// siblings. If more is reserved than there is, that is what is reserved for the queue itself.
func (l *Ledger) leftFor(q QueueID, o Ordinal, reserved Amounts) Limit {
	above := l.above(q, o)
	if !above.Set {
		return unlimited
	}
	left, err := above.Amount.Sub(reserved.Of(o))
	if err != nil || left.Sign() < 0 {
		left = Amount{}
	}
	if left, err = left.Add(l.queues[q].reserved.Of(o)); err != nil {
		return unlimited
	}
	// What is reserved for children does not make more of what there is. The guarantee of the queue counts in full.
	if most := larger(above.Amount, l.queues[q].guarantee.Of(o)); left.Cmp(most) > 0 {
		left = most
	}
	return AtMost(left)
}

func larger(a, b Amount) Amount {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// above returns the limit of a queue's parent, or the cluster's total.
func (l *Ledger) above(q QueueID, o Ordinal) Limit {
	if parent := l.queues[q].parent; parent != none {
		return l.queues[parent].limit[o]
	}
	d := l.dimensions.names[o]
	if l.total == nil || d.Kind != Resource || d.uncapped() {
		return unlimited
	}
	return AtMost(l.total.Of(o))
}

func (q *quota) adaptDeserved() {
	for o, deserved := range q.deserved {
		if limit := at(q.limit, Ordinal(o)); limit.exceededBy(deserved.Amount) {
			q.deserved[o] = limit
		}
	}
	for _, e := range q.guarantee {
		if e.Amount.Sign() <= 0 {
			continue
		}
		q.deserved = grown(q.deserved, e.Dimension)
		if d := &q.deserved[e.Dimension]; !d.Set || e.Amount.Cmp(d.Amount) > 0 {
			*d = AtMost(e.Amount)
		}
	}
}

// deservesAny reports whether the targets are more than zero for a dimension of that kind.
func (l *Ledger) deservesAny(deserved []Limit, kind Kind) bool {
	for o := range deserved {
		if deserved[o].Amount.Sign() > 0 && l.dimensions.names[o].Kind == kind {
			return true
		}
	}
	return false
}

// scope says whose limits a check applies to a queue.
type scope bool

const (
	// withAncestors is the scope of a check that asks the ancestors, too: binding limits.
	withAncestors scope = false
	// alone is the scope of a check that asks this queue only: all limits.
	alone scope = true
)

// limitAt returns the limit that checks of one scope apply to a dimension.
func (l *Ledger) limitAt(q QueueID, o Ordinal, s scope) *Limit {
	return l.limitIn(l.limits(q, s), q, o, s)
}

// limits returns the limits of the dimensions that were known when the ledger was made.
func (l *Ledger) limits(q QueueID, s scope) []Limit {
	if s == alone {
		return l.queues[q].limit
	}
	return l.queues[q].binding
}

// limitIn is limitAt for callers that ask for many dimensions of one list.
func (l *Ledger) limitIn(list []Limit, q QueueID, o Ordinal, s scope) *Limit {
	if int(o) < len(list) {
		return &list[o]
	}
	return l.lateLimit(q, o, s)
}

// lateLimit returns the limit of a dimension that was not known when the ledger was made. Such a
// card is not on any list. Such a resource does not exist in a cluster whose total is known; where
// ancestors are asked, too, the topmost queue refuses it.
func (l *Ledger) lateLimit(q QueueID, o Ordinal, s scope) *Limit {
	d := l.dimensions.names[o]
	missing := l.total != nil && d.Kind == Resource && !d.uncapped()
	if l.forbidden(q, o) || missing && (s == alone || l.queues[q].parent == none) {
		return &nothing
	}
	return &unlimited
}

// Capability returns the queue's own capability in one dimension, without that of its ancestors.
func (l *Ledger) Capability(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].capability, o)
}

// Limit returns how much the queue may have of one dimension, given its capability, its ancestors,
// the cluster's total, and what other queues are guaranteed. Volcano calls it realCapability.
func (l *Ledger) Limit(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].limit, o)
}

// Deserved returns the queue's fair target in one dimension. It is not set if the queue deserves
// nothing there.
func (l *Ledger) Deserved(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].deserved, o)
}

// Guarantee returns how much of one dimension the queue is guaranteed, which is no more than what it may ever have. It is
// not set if the guarantee does not list the dimension.
func (l *Ledger) Guarantee(q QueueID, o Ordinal) Limit {
	for _, e := range l.queues[q].guarantee {
		if e.Dimension == o {
			return AtMost(e.Amount)
		}
	}
	return unlimited
}

// Nearest returns the lowest queue, from q upwards, whose capability lists a dimension, and that
// capability; false if no capability does.
func (l *Ledger) Nearest(q QueueID, o Ordinal) (QueueID, Amount, bool) {
	for id := q; id != none; id = l.queues[id].parent {
		if own := l.Capability(id, o); own.Set {
			return id, own.Amount, true
		}
	}
	return none, Amount{}, false
}

// Limits reports whether the capability of q or of an ancestor lists any dimension of that kind.
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

// ListsCards reports whether the queue or an ancestor lists the cards that may be used.
func (l *Ledger) ListsCards(q QueueID) bool {
	return l.queues[q].lister != none
}

// CardLister returns the nearest queue, from q upwards, that lists the cards that may be used; false if no queue does.
func (l *Ledger) CardLister(q QueueID) (QueueID, bool) {
	lister := l.queues[q].lister
	return lister, lister != none
}

// DeservesCards reports whether the queue deserves more than zero of any card.
func (l *Ledger) DeservesCards(q QueueID) bool {
	return l.queues[q].deservesCards
}
