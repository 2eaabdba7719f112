// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// checkDeserved finds queues that can never have what they deserve, either alone or together with their siblings.
func (w *world) checkDeserved() {
	sums := map[string]ledger.Amounts{}
	for _, name := range slices.Sorted(maps.Keys(w.queues)) {
		queue := w.queues[name]
		id, placed := w.ledger.Queue(name)
		if !placed {
			continue
		}
		deserved := w.counter.Resources.List(quota.Resources(queue.Resources[1]), slices.Concat(queue.Devices.Deserved, queue.Cards.Deserved))
		for _, e := range deserved {
			limit := w.ledger.Limit(id, e.Dimension)
			if own := w.ledger.Capability(id, e.Dimension); !limit.Set || e.Amount.Cmp(limit.Amount) <= 0 || own.Set && e.Amount.Cmp(own.Amount) > 0 {
				continue // another rule reports more than the queue's own capability
			}
			d := w.counter.Dimensions.Dimension(e.Dimension)
			w.add(DeservedOutOfReach, Ref{Kind: Queues, Name: name}, fieldOfLimit("deserved", d),
				fmt.Sprintf("The queue deserves <%s> of %s, but the queues above it and the guarantees beside it leave it at most <%s>: lower it, or raise the capability above", d.Format(e.Amount), d, d.Format(limit.Amount)))
		}
		if path := w.ledger.Path(id); len(path) > 1 {
			if sum, err := sums[path[1]].PlusAll(deserved); err == nil {
				sums[path[1]] = sum
			}
		}
	}
	w.checkSums(sums)
}

// checkSums compares what the children of a queue deserve together with the available amounts.
func (w *world) checkSums(sums map[string]ledger.Amounts) {
	there := w.hardware()
	for _, parent := range slices.Sorted(maps.Keys(sums)) {
		id, _ := w.ledger.Queue(parent)
		for _, e := range sums[parent] {
			most, known := there[e.Dimension]
			if limit := w.ledger.Limit(id, e.Dimension); limit.Set && (!known || limit.Amount.Cmp(most) < 0) {
				most, known = limit.Amount, true
			}
			if !known || e.Amount.Cmp(most) <= 0 {
				continue
			}
			d := w.counter.Dimensions.Dimension(e.Dimension)
			w.add(DeservedOvercommitted, Ref{Kind: Queues, Name: parent}, Path{"spec"},
				fmt.Sprintf("The queues below it deserve <%s> of %s together, but there is only <%s> for them, so that not all of them get what they deserve: lower what they deserve, or add nodes", d.Format(e.Amount), d, d.Format(most)))
		}
	}
}
