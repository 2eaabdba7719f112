// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/devicequota/devicequota/pkg/ledger"

// Renew begins with new dimensions, so that those go which nothing needs any more: queues, nodes, and classes come and go
// while a scheduler runs. Everything is counted anew. What is remembered stays: which pods there were, the cards that they
// are charged, and what is known of devices that are no longer published. Call it between rounds. It must not be called
// while anything holds an ordinal of the old dimensions.
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
		fresh.charged[uid] = &Pod{Object: pod.Object, round: pod.round, chargedQueue: pod.chargedQueue}
	}
	for object, pod := range c.pods {
		fresh.pods[object] = &Pod{Object: object, round: pod.round, Queue: pod.Queue, InLedger: pod.InLedger, stale: true}
	}
	fresh.Claims.inherit(c.Claims)
	*c = *fresh
}

// renewed returns the same cards in other dimensions. It is a memory of what is charged: what the pod may choose among is
// left out.
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

// inherit takes over what is known of claims. They are counted anew when somebody asks for them.
func (cs *Claims) inherit(before *Claims) {
	cs.round, cs.catalog, cs.edition, cs.next = before.round, before.catalog, before.edition, before.next
	for uid, c := range before.claims {
		cs.claims[uid] = &Claim{Object: c.Object, Usage: c.Usage, Part: ledger.NewPart(nil), round: c.round, listing: anew}
	}
}

// anew is no number of capacities, so that a claim is counted anew.
const anew = -1
