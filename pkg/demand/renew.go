// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/devicequota/devicequota/pkg/ledger"

// Renew starts with new dimensions, to drop dimensions that are no longer needed. Queues, nodes and classes come and go
// while a scheduler runs. Everything is counted anew. The counter still remembers its pods, their charged cards, and
// devices that are no longer published. Call Renew between rounds, and only while no caller holds an old ordinal.
func (c *Counter) Renew() {
	fresh := NewCounter(c.Fleet, c.Resources.ignored)
	fresh.Configure(c.options, c.serving)
	fresh.round, fresh.reader = c.round, c.reader
	for uid, pod := range c.assigned {
		memory := &Pod{Object: pod.Object, round: pod.round, Cards: pod.Cards.renewed(fresh.Dimensions)}
		if served := pod.Served(); len(served) > 0 {
			memory.variantOf = &variantOf{base: memory, served: served}
		}
		fresh.assigned[uid] = memory
	}
	for uid, pod := range c.charged {
		fresh.charged[uid] = &Pod{Object: pod.Object, round: pod.round, chargedPath: pod.chargedPath}
	}
	for object, pod := range c.pods {
		fresh.pods[object] = &Pod{Object: object, round: pod.round, Queue: pod.Queue, InLedger: pod.InLedger, stale: true}
	}
	fresh.Claims.inherit(c.Claims)
	*c = *fresh
}

// renewed returns the same charged cards in other dimensions. It leaves out the choices of the pod.
func (c *PodCards) renewed(dimensions *ledger.Dimensions) *PodCards {
	var amounts ledger.Amounts
	for _, e := range c.Part.Amounts() {
		amounts = append(amounts, ledger.Entry{Dimension: dimensions.Ordinal(c.dimensions.Dimension(e.Dimension)), Amount: e.Amount})
	}
	return &PodCards{
		Cards: &Cards{}, Part: ledger.MakePart(amounts), dimensions: dimensions,
		charged: c.charged, assigned: c.assigned, remembered: c.remembered,
	}
}

// inherit adopts the knowledge about claims. They are counted anew at their next use.
func (cs *Claims) inherit(before *Claims) {
	cs.round, cs.catalog, cs.generation, cs.next = before.round, before.catalog, before.generation, before.next
	for uid, c := range before.claims {
		cs.claims[uid] = &Claim{Object: c.Object, Usage: c.Usage, Part: ledger.NewPart(nil), round: c.round, listing: anew}
	}
}

// anew is an impossible number of capacities. It makes a claim count anew.
const anew = -1
