// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Standing is all that a ledger knows of one queue and one limited dimension when it checks whether a demand fits.
type Standing struct {
	// Queue is the name of the queue.
	Queue     string
	Dimension Dimension
	Used      Amount
	// Capability is the queue's own, Limit is what the queue may have, and Binding is what the queue refuses by.
	Capability, Limit, Binding Limit
}

// Standings lists how a queue and its ancestors stand in the limited dimensions of some kinds. Two ledgers that list the same
// give the same answers, and the same refusals, to demands in these dimensions.
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
