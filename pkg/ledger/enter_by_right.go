// SPDX-License-Identifier: Apache-2.0

package ledger

// NoRight is why a job must not enter a queue by right.
type NoRight struct {
	Dimension Ordinal
	// Full is the queue that has no room.
	Full QueueID
	// Taker is the queue that would have to take room back, below Full on the way to the job. It is Full itself if the job's own queue has
	// no room: nobody takes back within a queue.
	Taker QueueID
	// Target is what Taker may have, and WouldBe what it would have. The right is missing if the target is not set, or is exceeded.
	Target  Limit
	WouldBe Amount
}

// Takings is what a job may take from others to enter a queue by right.
type Takings struct {
	// Spare is what jobs of the queue would lose to the job. It makes room in the queue itself, too.
	Spare Amounts
	// Back says that queues can take back what they deserve from other queues.
	Back bool
}

// WhyNoRight says why a job that needs at least these amounts may not enter the queue by right; nil if it may, although an ancestor has
// no room for it, because the queue may take back what it needs. What an ancestor lacks is taken from its other descendants, so that
// this ancestor, and those above it, do not get more. Up to that ancestor, the queue and its ancestors must stay within
// their targets, what other jobs still need included, and the highest of them must have one. Resources need no target if
// the queue deserves the cards or devices that the job needs, because pods that give these back give back resources, too.
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
	right := false // of the queue below id to take back
	withinTargets := true
	for id := q; id != none; id = l.queues[id].parent {
		beyond.Full = id
		total, err := l.committedWith(id, e.Dimension, more)
		if err != nil {
			return beyond
		}
		if limit := l.limitAt(id, e.Dimension, withAncestors); limit.exceededBy(total) {
			if !right {
				return beyond
			}
			lacking, _ := total.Sub(limit.Amount)
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
		right = from.Back && withinTargets && target.Set || deserves && l.dimensions.names[e.Dimension].Kind == Resource
	}
	return nil
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
