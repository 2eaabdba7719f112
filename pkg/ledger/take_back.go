// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Target returns how much of one dimension a queue may take back from other queues, and may keep when they take back. This is its
// deserved amount, which is at least its guarantee. If the queue deserves nothing but a sibling does, the target is zero. The
// target is not set if neither the queue nor a sibling deserves anything. Then no queue at that level takes back in this dimension.
func (l *Ledger) Target(q QueueID, o Ordinal) Limit {
	if own := l.Deserved(q, o); own.Set {
		return own
	}
	if l.deserving[groupDimension{l.siblings(q), o}] {
		return nothing
	}
	return unlimited
}

type groupDimension struct {
	group     int
	dimension Ordinal
}

// findDeserving records the dimensions in which each group of siblings has a queue that deserves something.
func (l *Ledger) findDeserving() {
	l.deserving = map[groupDimension]bool{}
	for i := range l.queues {
		for o, deserved := range l.queues[i].deserved {
			if deserved.Set {
				l.deserving[groupDimension{l.siblings(QueueID(i)), Ordinal(o)}] = true
			}
		}
	}
}

// MayTakeBack reports whether queue q may take back an amount of one dimension from another queue, in addition to the
// amount it has. With it, q and its ancestors below the lowest common ancestor must stay within their targets. The highest
// of them must have a target. A queue does not take back from its ancestors or descendants.
func (l *Ledger) MayTakeBack(q, from QueueID, o Ordinal, amount Amount) bool {
	if l.Within(q, from) || l.Within(from, q) {
		return false
	}
	top, _ := l.Branches(q, from)
	for id := q; ; id = l.queues[id].parent {
		target := l.Target(id, o)
		total, err := l.used(id, o).Add(amount)
		if err != nil || target.exceededBy(total) {
			return false
		}
		if id == top {
			return target.Set
		}
	}
}

// KeepsTarget reports whether queue q has at least its target in one dimension. The same must hold for its ancestors
// below the lowest one that it shares with the other queue. Ask a view in which the victims are released.
func (l *Ledger) KeepsTarget(q, other QueueID, o Ordinal) bool {
	_, top := l.Branches(other, q)
	for id := q; ; id = l.queues[id].parent {
		if target := l.Target(id, o); target.Set && l.used(id, o).Cmp(target.Amount) < 0 {
			return false
		}
		if id == top {
			return true
		}
	}
}

// KeepsGuarantees reports whether queue q has at least its guarantee in each freed dimension. The same must hold for its
// ancestors below the lowest one that it shares with the other queue. Ask a view in which the victims are released.
func (l *Ledger) KeepsGuarantees(q, other QueueID, freed Amounts) bool {
	_, top := l.Branches(other, q)
	for id := q; ; id = l.queues[id].parent {
		for _, e := range l.queues[id].guarantee {
			if freed.Of(e.Dimension).Sign() > 0 && l.used(id, e.Dimension).Cmp(e.Amount) < 0 {
				return false
			}
		}
		if id == top {
			return true
		}
	}
}

// MayEvict reports whether queue q may evict a victim, charged to the queues in from, that frees some amounts. short is the amounts that
// q needs. Ask a view in which all victims are released.
//
// The victim must free a needed dimension in which q has a right to its whole need, and the victim's queues keep their targets. The
// victim's queues must also keep their guarantees. Both conditions must hold for all needed cards and devices that have a target.
// Otherwise, these queues would take them back at once, and two queues would evict each other's pods forever. For the same reason, resources
// such as cpu go along with cards and devices only if the victim's queues keep their targets of these resources, or q has a right to them.
func (l *Ledger) MayEvict(q QueueID, frees, short Amounts, from ...QueueID) bool {
	helps, devices, keep := false, false, true
	for _, e := range short {
		if frees.Of(e.Dimension).Sign() <= 0 {
			continue
		}
		keeps := !slices.ContainsFunc(from, func(v QueueID) bool { return !l.KeepsTarget(v, q, e.Dimension) })
		right := !slices.ContainsFunc(from, func(v QueueID) bool { return !l.MayTakeBack(q, v, e.Dimension, e.Amount) })
		switch {
		case keeps && right:
			helps, devices = true, devices || l.Dimension(e.Dimension).Kind != Resource
		case l.IsDeserved(q, e.Dimension, from...), !keeps && !right:
			return false
		}
		keep = keep && keeps
	}
	return helps && (devices || keep) && !slices.ContainsFunc(from, func(v QueueID) bool { return !l.KeepsGuarantees(v, q, frees) })
}

// IsDeserved reports whether some cards or devices have a target, as seen from queue q and any of the other queues.
func (l *Ledger) IsDeserved(q QueueID, o Ordinal, others ...QueueID) bool {
	return l.Dimension(o).Kind != Resource && slices.ContainsFunc(others, func(other QueueID) bool {
		top, _ := l.Branches(q, other)
		return l.Target(top, o).Set
	})
}

// Excess returns by how much a queue exceeds its target, as a fraction of the target. If the target is zero, it returns
// the used amount in billionths. It is 0 for a queue without a target, and never negative.
func (l *Ledger) Excess(q QueueID, o Ordinal) float64 {
	target, used := l.Target(q, o), l.used(q, o)
	if !target.exceededBy(used) {
		return 0
	}
	if target.Amount.Sign() <= 0 {
		return used.float()
	}
	return used.float()/target.Amount.float() - 1
}
