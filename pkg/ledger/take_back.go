// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Target returns how much of one dimension a queue may take back from others, and may keep when others take back:
// what it deserves, at least its guarantee. If the queue deserves nothing there, but one of its siblings does, the target
// is zero. It is not set if neither the queue nor a sibling deserves anything: then nobody at that level takes anything
// back in this dimension.
func (l *Ledger) Target(q QueueID, o Ordinal) Limit {
	if own := l.Deserved(q, o); own.Set {
		return own
	}
	if l.deserving[groupDimension{l.siblings(q), o}] {
		return nothing
	}
	return unlimited
}

// groupDimension is a dimension of a group of siblings.
type groupDimension struct {
	group     int
	dimension Ordinal
}

// findDeserving notes in which dimensions some queue of each group of siblings deserves something.
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

// MayTakeBack reports whether queue q may take back from another queue, so that it gets an amount of one dimension in
// addition to what it has: with it, neither q nor any of its ancestors below the lowest common one may have more
// than its target, and the highest of them must have a target. Nobody takes back from a queue of which it is an ancestor or
// descendant.
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

// KeepsTarget reports whether queue q, and its ancestors below the lowest one that it shares with another queue, have at
// least their targets in one dimension. Ask a view in which the victims are released.
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

// KeepsGuarantees reports whether queue q, and its ancestors below the lowest one that it shares with another queue,
// have at least what they are guaranteed in each dimension in which something was freed. Ask a view in which the victims are
// released.
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

// MayEvict reports whether queue q may evict a victim that frees some amounts, for what q is short of. The victim is charged to other
// queues. Ask a view in which all victims are released. Of something that is short and that the victim frees, q has a right to as
// much as it asks for, and the queues of the victim keep what they deserve and are guaranteed. That holds for all cards and devices among
// it that a queue deserves: otherwise, these queues would take them back at once, and two queues would evict each other's pods for ever.
// Only cpu and the like go along with devices and cards to which q has a right.
func (l *Ledger) MayEvict(q QueueID, frees, short Amounts, from ...QueueID) bool {
	helps, devices, keep := false, false, true
	for _, e := range short {
		if frees.Of(e.Dimension).Sign() <= 0 {
			continue
		}
		keeps := !slices.ContainsFunc(from, func(v QueueID) bool { return !l.KeepsTarget(v, q, e.Dimension) })
		keep = keep && keeps
		switch {
		case keeps && !slices.ContainsFunc(from, func(v QueueID) bool { return !l.MayTakeBack(q, v, e.Dimension, e.Amount) }):
			helps, devices = true, devices || l.Dimension(e.Dimension).Kind != Resource
		case l.IsDeserved(q, e.Dimension, from...):
			return false
		}
	}
	return helps && (devices || keep) && !slices.ContainsFunc(from, func(v QueueID) bool { return !l.KeepsGuarantees(v, q, frees) })
}

// IsDeserved reports whether it is settled who deserves how many of some cards or devices, as seen from queue q and any of some others.
func (l *Ledger) IsDeserved(q QueueID, o Ordinal, others ...QueueID) bool {
	return l.Dimension(o).Kind != Resource && slices.ContainsFunc(others, func(other QueueID) bool {
		top, _ := l.Branches(q, other)
		return l.Target(top, o).Set
	})
}

// Excess returns by how much a queue has more than its target, as a fraction of the target, or of what the queue has if
// the target is zero. It is 0 for a queue without a target, and never negative.
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
