// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// NoRight says why a job may not enter a queue by right.
type NoRight struct {
	Dimension Ordinal
	// Full is the queue that has no room.
	Full QueueID
	// Taker is the queue below Full, towards the job, that would have to take room back. It is Full itself if the job's own queue has no
	// room, because queues do not take back from themselves.
	Taker QueueID
	// Target is the target of Taker. WouldBe is the amount that Taker would have. The right is missing if Target is not set or
	// WouldBe exceeds it.
	Target  Limit
	WouldBe Amount
}

// Takings says what a job may take from others to enter a queue by right.
type Takings struct {
	// Spare is the amounts that other jobs of the queue would lose to the job. They also make room in the queue itself.
	Spare Amounts
	// Back says that queues can take back what they deserve from other queues.
	Back bool
}

// WhyNoRight says why a job with this minimum may not enter the queue by right. It returns nil if the job may enter. A job may enter
// although an ancestor has no room for it, if the queue may take back the missing amounts.
//
// An ancestor takes its missing amounts from its other descendants. It and the queues above it therefore do not get more. Up to that
// ancestor, the queue and its ancestors must stay within their targets. This counts the needs of other jobs. The highest of these
// queues must have a target, or lower ones take the amounts from what their siblings have above their targets. Resources need no target if the queue deserves the cards or devices of the job, because pods that give
// back devices also give back resources.
func (l *Ledger) WhyNoRight(q QueueID, minimum Amounts, from Takings) *NoRight {
	deserves := from.Back && l.deservesDevices(q, minimum)
	for _, e := range minimum {
		if e.Amount.Sign() <= 0 {
			continue
		}
		if no := l.whyNoRight(q, e, from, deserves); no != nil {
			return no
		}
	}
	return nil
}

func (l *Ledger) whyNoRight(q QueueID, e Entry, from Takings, deserves bool) *NoRight {
	beyond := &NoRight{Dimension: e.Dimension, Full: q, Taker: q}
	more, err := e.Amount.Sub(from.Spare.Of(e.Dimension))
	if err != nil {
		return beyond
	}
	right := false // whether the queue below id may take back
	withinTargets := true
	var takers []QueueID // the queues below id that may take back
	var taken Amount
	for id := q; id != none; id = l.queues[id].parent {
		beyond.Full = id
		total, err := l.committedWith(id, e.Dimension, more)
		if err != nil {
			return beyond
		}
		if limit := l.limitAt(id, e.Dimension, withAncestors); limit.exceededBy(total) {
			lacking, _ := total.Sub(limit.Amount)
			if taken, err = taken.Add(lacking); err != nil || !right && taken.Cmp(l.excessBeside(takers, e.Dimension)) > 0 {
				return beyond
			}
			if more, err = more.Sub(lacking); err != nil {
				return beyond
			}
			total = limit.Amount
		}
		target := l.Target(id, e.Dimension)
		if withinTargets {
			beyond.Taker, beyond.Target, beyond.WouldBe = id, target, total
		}
		withinTargets = withinTargets && !target.exceededBy(total)
		if right = from.Back && withinTargets && target.Set; right {
			takers = append(takers, id)
		}
		right = right || deserves && l.dimensions.names[e.Dimension].Kind == Resource
	}
	return nil
}

// excessBeside sums up what the siblings of some queues have above their targets, with the needs of their jobs.
func (l *Ledger) excessBeside(queues []QueueID, o Ordinal) (sum Amount) {
	for i := range l.queues {
		id := QueueID(i)
		if !slices.ContainsFunc(queues, func(q QueueID) bool { return q != id && l.siblings(q) == l.siblings(id) }) {
			continue
		}
		target := l.Target(id, o)
		has, err := l.committed(id, o)
		if err != nil || !target.exceededBy(has) {
			continue
		}
		excess, _ := has.Sub(target.Amount)
		if total, err := sum.Add(excess); err == nil {
			sum = total
		}
	}
	return sum
}

// deservesDevices reports whether the queue deserves some card or devices that a job needs. The queue, or its nearest ancestor
// with a target, must stay within the target with them.
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
