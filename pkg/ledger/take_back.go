// SPDX-License-Identifier: Apache-2.0

package ledger

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

// MayEnterByRight reports whether a job that needs at least these amounts may enter the queue although an ancestor has no room for
// it, because the queue may take back what it needs. What an ancestor lacks is taken from its other descendants, so that
// this ancestor, and those above it, do not get more. Up to that ancestor, the queue and its ancestors must stay within
// their targets, what other jobs still need included, and the highest of them must have one. Resources need no target if
// the queue deserves the cards or devices that the job needs, because pods that give these back give back resources, too.
// Spare is what jobs of the queue would lose to the job. It makes room in the queue itself, too.
func (l *Ledger) MayEnterByRight(q QueueID, minimum, spare Amounts) bool {
	deserves := l.deservesDevices(q, minimum)
	for _, e := range minimum {
		if e.Amount.Sign() > 0 && !l.mayEnterByRight(q, e, spare.Of(e.Dimension), deserves) {
			return false
		}
	}
	return true
}

func (l *Ledger) mayEnterByRight(q QueueID, e Entry, spare Amount, deserves bool) bool {
	more, err := e.Amount.Sub(spare)
	if err != nil {
		return false
	}
	right := false // of the queue below id to take back
	withinTargets := true
	for id := q; id != none; id = l.queues[id].parent {
		total, err := l.committedWith(id, e.Dimension, more)
		if err != nil {
			return false
		}
		if limit := l.limitAt(id, e.Dimension, withAncestors); limit.exceededBy(total) {
			if !right {
				return false
			}
			lacking, _ := total.Sub(limit.Amount)
			if more, err = more.Sub(lacking); err != nil {
				return false
			}
			total = limit.Amount
		}
		target := l.Target(id, e.Dimension)
		withinTargets = withinTargets && !target.exceededBy(total)
		right = withinTargets && target.Set || deserves && l.dimensions.names[e.Dimension].Kind == Resource
	}
	return true
}

// deservesDevices reports whether the queue, or the lowest queue above it that has a target, would stay within it with some card
// or devices that a job needs.
func (l *Ledger) deservesDevices(q QueueID, minimum Amounts) bool {
	for _, e := range minimum {
		if e.Amount.Sign() > 0 && l.dimensions.names[e.Dimension].Kind != Resource && l.withinTarget(q, e) {
			return true
		}
	}
	return false
}

func (l *Ledger) withinTarget(q QueueID, e Entry) bool {
	for id := q; id != none; id = l.queues[id].parent {
		target := l.Target(id, e.Dimension)
		if !target.Set {
			continue
		}
		total, err := l.committedWith(id, e.Dimension, e.Amount)
		return err == nil && !target.exceededBy(total)
	}
	return false
}
