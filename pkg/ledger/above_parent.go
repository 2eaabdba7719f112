// SPDX-License-Identifier: Apache-2.0

package ledger

// AboveParent is a capability that a queue can never reach, because a queue further up has a smaller capability.
type AboveParent struct {
	Queue     QueueID
	Dimension Dimension
	// Capability is the capability of the queue. Limit is the capability of Above.
	Capability, Limit Amount
	Above             QueueID
}

// AboveParents returns the capabilities that exceed the capability of the nearest queue further up that lists the same
// dimension. Each call computes them anew.
func (l *Ledger) AboveParents() []AboveParent {
	var all []AboveParent
	for i := range l.queues {
		q := &l.queues[i]
		if q.parent == none {
			continue
		}
		for o, own := range q.capability {
			d := l.dimensions.names[o]
			if !own.Set || d.uncapped() {
				continue
			}
			if above, limit, listed := l.Nearest(q.parent, Ordinal(o)); listed && own.Amount.Cmp(limit) > 0 {
				all = append(all, AboveParent{Queue: QueueID(i), Dimension: d, Capability: own.Amount, Above: above, Limit: limit})
			}
		}
	}
	return all
}
