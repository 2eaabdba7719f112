// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// PodCards is the cards that a pod asks for, and the cards that it is charged once it has a node.
type PodCards struct {
	*Cards
	// Part is what the pod is charged: the cards of its node. It is empty while no cards are assigned.
	Part ledger.Part
	// Choices has a part for each request, with an alternative for each card that it may be. These parts are
	// for checks only.
	Choices []*ledger.Part
	// Placed says that the pod had a node when the session began. Whoever takes the snapshot of a session sets it.
	Placed bool

	dimensions *ledger.Dimensions
	// asked is all that is checked while no cards are assigned. It is made before anybody asks, because
	// simulations ask from several goroutines.
	asked ledger.Demand
	// charged has the card of each request that Part includes. These cards stay the same even if the labels of the
	// node change. A request for cards whose names nobody knew joins them when somebody does.
	charged map[corev1.ResourceName]string
	// assigned says that the pod has a node, and that Part is for that node.
	assigned bool
	// remembered says that the counter remembers the assignment, see Counter.Remember.
	remembered bool
}

func newPodCards(cards *Cards, dimensions *ledger.Dimensions) *PodCards {
	return &PodCards{Cards: cards, Part: ledger.MakePart(nil), Choices: cards.choices(), dimensions: dimensions}
}

// Assigned reports whether the pod has a node, so that Part is what it is charged.
func (c *PodCards) Assigned() bool { return c.assigned }

// Charged reports whether the pod is charged for any request.
func (c *PodCards) Charged() bool { return len(c.charged) > 0 }

// ChargedCards has the card that the pod is charged for each resource. The caller must not change it.
func (c *PodCards) ChargedCards() map[corev1.ResourceName]string { return c.charged }

// Assign makes Part the cards of a node, which is nil for a node without known cards. Requests that
// are charged already keep their cards. Recorded has the cards that the pod was charged when it was bound. They count
// whatever the node has now; it is nil if nothing was recorded. A charge in the ledger changes with Part. On error
// (ledger.ErrOverflow) Part stays as it is.
func (c *PodCards) Assign(books *ledger.Ledger, node *card.Node, recorded map[corev1.ResourceName]string) error {
	c.assigned = true
	if len(c.charged) >= len(c.Requests) {
		return nil
	}
	amounts, charged := c.Part.Amounts(), maps.Clone(c.charged)
	for _, r := range c.Requests {
		name := recorded[r.Resource]
		if name == "" {
			name, _ = node.Of(r.Resource)
		}
		if name == "" || c.charged[r.Resource] != "" {
			continue
		}
		var err error
		if amounts, err = amounts.Plus(c.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name}), ledger.Units(r.Count)); err != nil {
			return err
		}
		if charged == nil {
			charged = map[corev1.ResourceName]string{}
		}
		charged[r.Resource] = name
	}
	if len(charged) == len(c.charged) {
		return nil
	}
	if err := books.Amend(&c.Part, amounts); err != nil {
		return err
	}
	c.charged = charged
	return nil
}

// unassign empties Part, for a pod that has no node any more.
func (c *PodCards) unassign(books *ledger.Ledger) error {
	c.charged, c.assigned = nil, false
	return books.Amend(&c.Part, nil)
}

// On returns what the pod would be charged on a node, as a part for checks. Only the cards that the pod may get
// count.
func (c *PodCards) On(node *card.Node) *ledger.Part {
	var amounts ledger.Amounts
	for _, r := range c.Requests {
		name, _ := node.Of(r.Resource)
		for _, among := range r.Among {
			if among.Name == name {
				amounts = Sum(amounts, ledger.Amounts{{Dimension: among.Ordinal, Amount: ledger.Units(r.Count)}})
			}
		}
	}
	return ledger.NewPart(amounts)
}

// inherit takes over what the pod was charged before the fleet or the pod changed.
func (c *PodCards) inherit(before *PodCards) {
	c.Part, c.charged, c.assigned = before.Part.Twin(), before.charged, before.assigned
}
