// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// PodCards is the card demand of a pod, and the charged cards once the pod has a node.
type PodCards struct {
	*Cards
	// Part is the charge of the pod: the cards of its node. It is empty while no cards are assigned.
	Part ledger.Part
	// Choices has a part for each request, with an alternative for each possible card. These parts are only for checks.
	Choices []*ledger.Part
	// Placed says that the pod had a node when the session began. The code that takes the session's snapshot sets it.
	Placed bool

	dimensions *ledger.Dimensions
	// asked is the demand to check while no cards are assigned. It is computed in advance, because simulations read it
	// from several goroutines.
	asked ledger.Demand
	// charged holds the card of each request in Part. These cards stay the same even if the labels of the node change.
	// Requests for unknown cards join later, when the cards become known.
	charged map[corev1.ResourceName]string
	// assigned says that the pod has a node, and that Part applies to this node.
	assigned bool
	// remembered says that the counter remembers the assignment, see Counter.Remember.
	remembered bool
}

func newPodCards(cards *Cards, dimensions *ledger.Dimensions) *PodCards {
	return &PodCards{Cards: cards, Part: ledger.MakePart(nil), Choices: cards.choices(), dimensions: dimensions}
}

// Assigned reports whether the pod has a node and Part is its charge.
func (c *PodCards) Assigned() bool { return c.assigned }

// Charged reports whether the pod is charged for any card request.
func (c *PodCards) Charged() bool { return len(c.charged) > 0 }

// ChargedCards maps resources to the charged cards. Callers must not change the map.
func (c *PodCards) ChargedCards() map[corev1.ResourceName]string { return c.charged }

// Assign sets Part to the cards of a node. node is nil if the cards of the node are unknown. Charged requests keep
// their cards. recorded holds the cards that were charged at binding, or nil. They override the cards of the node. A
// charge in the ledger changes with Part. On error (ledger.ErrOverflow), Part does not change.
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

// On returns the charge that the pod would have on a node, as a part for checks. It counts only cards that the pod may get.
func (c *PodCards) On(node *card.Node) *ledger.Part {
	var amounts ledger.Amounts
	for _, r := range c.Requests {
		name, _ := node.Of(r.Resource)
		for _, among := range r.Among {
			if among.Name == name {
				amounts = Sum(amounts, r.as(among))
			}
		}
	}
	return ledger.NewPart(amounts)
}

// inherit adopts the charge from before the fleet or the pod changed.
func (c *PodCards) inherit(before *PodCards) {
	c.Part, c.charged, c.assigned = before.Part.Twin(), before.charged, before.assigned
}

// CardPosition returns the position, among the cards that the pod names, of the card of a variant's device class. It
// returns false if the position is unknown.
func (c *Counter) CardPosition(v *Pod) (int, bool) {
	text, names := v.Object.Annotations[card.NameAnnotation]
	if !names || len(v.Served()) == 0 {
		return 0, false
	}
	wantedNames, err := card.Names(text)
	if err != nil {
		return 0, false
	}
	position := slices.Index(wantedNames, c.Claims.catalog.Card(c.serving.class(v.Served()[0])))
	return position, position >= 0
}
