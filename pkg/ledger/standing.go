// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Standing is everything that a ledger uses to check a demand against one queue and one limited dimension.
type Standing struct {
	// Queue is the name of the queue.
	Queue     string
	Dimension Dimension
	Used      Amount
	// Capability is the queue's own capability. Limit is the amount that the queue may have. Binding is the limit that
	// the queue refuses by.
	Capability, Limit, Binding Limit
}

// Standings lists the standings of a queue and its ancestors in the limited dimensions of some kinds. Two ledgers with equal
// lists give equal answers and refusals to demands in these dimensions.
func (l *Ledger) Standings(q QueueID, kinds ...Kind) []Standing {
	var all []Standing
	for id := q; id != none; id = l.queues[id].parent {
		for o := range Ordinal(l.dimensions.Len()) {
			d := l.dimensions.Dimension(o)
			if limit := *l.limitAt(id, o, alone); limit.Set && slices.Contains(kinds, d.Kind) {
				all = append(all, Standing{
					Queue: l.queues[id].name, Dimension: d, Used: l.used(id, o),
					Capability: l.Capability(id, o), Limit: limit, Binding: *l.limitAt(id, o, withAncestors),
				})
			}
		}
	}
	return all
}
