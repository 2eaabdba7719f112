// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// quota holds the limits of one queue, all indexed by dimension. The following holds in every ledger and every dimension. For a
// topmost queue, the parent's limit is the cluster's total.
//
//   - capability, deserved and guarantee start with the values of the administrator. guarantee and deserved are then adapted.
//   - guarantee is at most the capability. It is zero where the queue must not use the dimension (see forbidden).
//   - reserved is the amount that siblings must leave. It is the larger of the guarantee and the sum reserved for the children,
//     up to the capability. Siblings of every ancestor therefore respect nested guarantees.
//   - limit is the smaller of the capability and the amount that the parent leaves. It is not set if neither is set. The parent
//     leaves its limit less the amounts reserved for all its children, at least zero, plus the amount reserved for this queue.
//     It leaves at most the larger of its limit and the guarantee.
//   - limit exceeds the parent's limit only if the guarantee exceeds it. [Ledger.Uncovered] reports this case.
//   - limit is zero for cards and devices that the queue must not use (see forbidden).
//   - binding is limit without the limits that equal the parent's. The parent uses at least as much as the queue, so it refuses
//     the same demands, and users need the parent's name. For a topmost queue, binding is limit.
//   - lister is the nearest queue, starting with this one, that lists the usable cards. It is none if no queue does.
//   - deviceQuotaRequired says that pods may use devices only if a queue on the way to the root lists their class.
//   - free says that binding is not set in any dimension, including dimensions interned later.
//   - deserved is set where the administrator set it or the guarantee is greater than zero. It is at least the guarantee.
//     Unless the guarantee is larger, deserved is at most limit.
//   - deservesCards says that deserved is greater than zero for some card.
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

// deriveLimits computes the quota of each queue. In l.queues, parents come before children.
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

// forbidden reports whether pods of the queue must not use o. A card is forbidden if the applicable list does not
// contain it. Devices are forbidden if device quota is required and no queue on the way to the root lists their class.
// A queue with children forbids nothing, because the children may have their own lists.
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

// ListsClass reports whether the capability of the queue or an ancestor lists a device class or one of its capacities.
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

// leftFor returns the amount that the parent or the cluster leaves for a queue, beside the amounts reserved for its
// siblings. If more is reserved than exists, this is the amount reserved for the queue itself.
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
	// Reservations for children cannot exceed the amount that exists. The guarantee of the queue counts in full.
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

// deservesAny reports whether the targets exceed zero in any dimension of the kind.
func (l *Ledger) deservesAny(deserved []Limit, kind Kind) bool {
	for o := range deserved {
		if deserved[o].Amount.Sign() > 0 && l.dimensions.names[o].Kind == kind {
			return true
		}
	}
	return false
}

// scope selects the limits that a check applies to a queue.
type scope bool

const (
	// withAncestors is the scope of checks that also check the ancestors. They apply binding limits.
	withAncestors scope = false
	// alone is the scope of checks that check only this queue. They apply all limits.
	alone scope = true
)

// limitAt returns the limit of a dimension in a scope.
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

// limitIn is limitAt for callers that check many dimensions of one list.
func (l *Ledger) limitIn(list []Limit, q QueueID, o Ordinal, s scope) *Limit {
	if int(o) < len(list) {
		return &list[o]
	}
	return l.lateLimit(q, o, s)
}

// lateLimit returns the limit of a dimension that was not known when the ledger was made. No list contains a late card. A late
// resource does not exist in a cluster with a known total. With the scope withAncestors, only the topmost queue refuses it.
func (l *Ledger) lateLimit(q QueueID, o Ordinal, s scope) *Limit {
	d := l.dimensions.names[o]
	missing := l.total != nil && d.Kind == Resource && !d.uncapped()
	if l.forbidden(q, o) || missing && (s == alone || l.queues[q].parent == none) {
		return &nothing
	}
	return &unlimited
}

// Capability returns the queue's own capability in one dimension. It ignores the ancestors.
func (l *Ledger) Capability(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].capability, o)
}

// Limit returns how much of one dimension the queue may have. It accounts for the capability, the ancestors, the
// cluster's total and the guarantees of other queues. Volcano calls it realCapability.
func (l *Ledger) Limit(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].limit, o)
}

// Deserved returns the queue's fair target in one dimension. It is not set if the queue has no target there.
func (l *Ledger) Deserved(q QueueID, o Ordinal) Limit {
	return at(l.queues[q].deserved, o)
}

// Guarantee returns the queue's guarantee in one dimension, cut to its capability. It is not set if the guarantee does
// not list the dimension.
func (l *Ledger) Guarantee(q QueueID, o Ordinal) Limit {
	for _, e := range l.queues[q].guarantee {
		if e.Dimension == o {
			return AtMost(e.Amount)
		}
	}
	return unlimited
}

// Nearest returns the lowest queue, from q upwards, with a capability that lists a dimension, and this capability. It returns
// false if no capability does.
func (l *Ledger) Nearest(q QueueID, o Ordinal) (QueueID, Amount, bool) {
	for id := q; id != none; id = l.queues[id].parent {
		if own := l.Capability(id, o); own.Set {
			return id, own.Amount, true
		}
	}
	return none, Amount{}, false
}

// Limits reports whether the capability of q or an ancestor lists any dimension of the kind.
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

// ListsCards reports whether the queue or an ancestor lists the usable cards.
func (l *Ledger) ListsCards(q QueueID) bool {
	return l.queues[q].lister != none
}

// CardLister returns the nearest queue, from q upwards, that lists the usable cards. It returns false if no queue does.
func (l *Ledger) CardLister(q QueueID) (QueueID, bool) {
	lister := l.queues[q].lister
	return lister, lister != none
}

// DeservesCards reports whether the queue deserves any cards.
func (l *Ledger) DeservesCards(q QueueID) bool {
	return l.queues[q].deservesCards
}
