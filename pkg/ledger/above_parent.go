// SPDX-License-Identifier: Apache-2.0

package ledger

// AboveParent is a capability that never holds, because a queue further up has a smaller one.
type AboveParent struct {
	Queue     QueueID
	Dimension Dimension
	// Capability is that of the queue, Limit that of Above.
	Capability, Limit Amount
	Above             QueueID
}

// AboveParents returns the capabilities that exceed the one of the nearest queue further up that lists the dimension.
// It computes them anew each time.
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
