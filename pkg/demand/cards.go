// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cards is a pod's demand for cards of device plugins.
type Cards struct {
	// Names lists the cards that the pod names, preferred first. The pod runs only on nodes with one of them. Names is
	// nil if the pod names no cards.
	Names []string
	// Wanted is Names as text for messages.
	Wanted string
	// Requests has an entry for each requested resource that stands for cards.
	Requests []CardRequest

	// selection is kept for the fleet, nil if the pod selects all nodes.
	selection *card.Selection
}

// CardRequest is an amount of one resource. The card that the resource stands for depends on the node.
type CardRequest struct {
	Resource corev1.ResourceName
	// Count is greater than zero.
	Count int64
	// Among lists the cards that the resource may stand for on the nodes that the pod selects, preferred first. It is empty if no node
	// has a label with the card of this resource.
	Among []Card
}

// Card is a card and its dimension in the ledger.
type Card struct {
	Name    string
	Ordinal ledger.Ordinal
}

// as returns the charge for a request that is met by a card.
func (r *CardRequest) as(card Card) ledger.Amounts {
	return ledger.Amounts{{Dimension: card.Ordinal, Amount: ledger.Units(r.Count)}}
}

// UnknownCardError says that no node has any of the cards that a pod names. Nodes with these cards may join later.
type UnknownCardError struct {
	names, known []string
}

func (e *UnknownCardError) Error() string {
	there := "no node has any cards"
	if len(e.known) > 0 {
		there = "the nodes have " + list(e.known, ", ")
	}
	return fmt.Sprintf("no node has a card %s: it waits for one, or correct its annotation %s; %s", wanted(e.names), card.NameAnnotation, there)
}

// maxListed is the maximum number of names in a message.
const maxListed = 10

// list joins the first names, and adds the number of further names.
func list(names []string, separator string) string {
	if more := len(names) - maxListed; more > 0 {
		return strings.Join(names[:maxListed], separator) + fmt.Sprintf("%s%d more", separator, more)
	}
	return strings.Join(names, separator)
}

func wanted(names []string) string { return list(names, " or ") }

// CardNames returns the cards that the annotations of a pod or pod template name. It returns false without such an annotation. The
// error names the position of the mistake.
func CardNames(annotations map[string]string) (names []string, found bool, err error) {
	text, found := annotations[card.NameAnnotation]
	if !found {
		return nil, false, nil
	}
	if names, err = card.Names(text); err != nil {
		return nil, true, fmt.Errorf("its annotation %s is wrong %w", card.NameAnnotation, err)
	}
	return names, true, nil
}

// CardsOf returns the card demand of a pod or pod template with these annotations, or nil if there is none. The amounts are
// the effective requests, including init containers, sidecars and overhead. served lists extended resources that DRA
// serves, which are not cards of a node. The error describes the mistake in the annotation, or is an UnknownCardError.
func CardsOf(annotations map[string]string, spec *corev1.PodSpec, served []corev1.ResourceName, fleet *card.Fleet, dimensions *ledger.Dimensions) (*Cards, error) {
	named, names, err := CardNames(annotations)
	if err != nil {
		return nil, err
	}
	cards := &Cards{Names: named}
	if names {
		cards.Wanted = wanted(named)
	}
	requests := slices.DeleteFunc(requested(spec, fleet), func(r CardRequest) bool { return slices.Contains(served, r.Resource) })
	if names && len(requests) == 0 && len(spec.ResourceClaims)+len(served) > 0 {
		return nil, nil // the claims determine the cards
	}
	resources, err := resourceOf(cards.Names, fleet)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong: %w", card.NameAnnotation, err)
	}
	if names && !slices.ContainsFunc(cards.Names, fleet.Known) {
		return nil, &UnknownCardError{names: cards.Names, known: fleet.Names()}
	}
	for _, r := range requests {
		among := fleet.CardsOf(r.Resource)
		if slices.Contains(resources, r.Resource) {
			among = slices.DeleteFunc(slices.Clone(cards.Names), func(name string) bool { return !slices.Contains(among, name) })
		}
		if len(among) > 1 {
			cards.selection = fleet.Select(spec)
			among = cards.selection.Of(among)
		}
		for _, name := range among {
			r.Among = append(r.Among, Card{name, dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})})
		}
		cards.Requests = append(cards.Requests, r)
	}
	if !names && len(cards.Requests) == 0 {
		return nil, nil
	}
	return cards, nil
}

// requested returns the requested resources that stand for cards, sorted by name.
func requested(spec *corev1.PodSpec, fleet *card.Fleet) []CardRequest {
	var cards []CardRequest
	for name, quantity := range requests.OfPod(&corev1.Pod{Spec: *spec}) {
		if quantity.Sign() > 0 && fleet.IsCard(name) {
			count := quantity.Value()
			if quantity.CmpInt64(math.MaxInt64) > 0 {
				count = math.MaxInt64 // no node has as many; a sum of containers may exceed an int64, and then Value is wrong
			}
			cards = append(cards, CardRequest{Resource: name, Count: count})
		}
	}
	slices.SortFunc(cards, func(a, b CardRequest) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return cards
}

// resourceOf returns the resources that stand for every named card that nodes offer. It returns an error if there is no
// such resource, because a pod that requests several resources gets a card of each.
func resourceOf(names []string, fleet *card.Fleet) ([]corev1.ResourceName, error) {
	var common []corev1.ResourceName
	first := ""
	for _, name := range names {
		resources := fleet.ResourcesOf(name)
		if len(resources) == 0 {
			continue
		}
		if first == "" {
			first, common = name, resources
			continue
		}
		before := common[0]
		common = slices.DeleteFunc(common, func(r corev1.ResourceName) bool { return !slices.Contains(resources, r) })
		if len(common) == 0 {
			return nil, fmt.Errorf("%s and %s are cards of different resources, %s and %s, and a pod that requests both gets one card of each: name cards of one resource only",
				first, name, before, resources[0])
		}
	}
	return common, nil
}

// Position returns the position of the node's card among the cards that the pod names. It returns false if the pod must
// not run on the node. A pod that names no cards may run on any node.
func (c *Cards) Position(node *card.Node) (int, bool) {
	if len(c.Names) == 0 {
		return 0, true
	}
	position := slices.IndexFunc(c.Names, node.Has)
	return position, position >= 0
}

// Named reports whether the pod requests a resource with known cards.
func (c *Cards) Named() bool {
	return slices.ContainsFunc(c.Requests, func(r CardRequest) bool { return len(r.Among) > 0 })
}

// Unnamed returns a requested resource without known cards, or an empty name.
func (c *Cards) Unnamed() corev1.ResourceName {
	for _, r := range c.Requests {
		if len(r.Among) == 0 {
			return r.Resource
		}
	}
	return ""
}

// ways returns the total of each way to meet the requests, in addition to other amounts. Each request may use any of its cards.
func (c *Cards) ways(others ledger.Amounts) []ledger.Amounts {
	ways := []ledger.Amounts{others}
	for _, r := range c.Requests {
		var more []ledger.Amounts
		for _, way := range ways {
			for _, among := range r.Among {
				more = append(more, Sum(slices.Clone(way), r.as(among)))
			}
		}
		if len(more) > 0 && len(more) <= maxListed*maxListed {
			ways = more
		}
	}
	return ways
}

// choices returns a part for each request, with an alternative for each of its cards.
func (c *Cards) choices() []*ledger.Part {
	var parts []*ledger.Part
	for _, r := range c.Requests {
		var alternatives []ledger.Amounts
		for _, among := range r.Among {
			alternatives = append(alternatives, r.as(among))
		}
		if len(alternatives) == 1 {
			parts = append(parts, ledger.NewPart(alternatives[0]))
		} else {
			parts = append(parts, ledger.NewPart(nil, alternatives...))
		}
	}
	return parts
}
