// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// cardsOf returns the cards that a pod may get. Each card that it names counts. If it names none, each listed card counts that a
// requested resource may stand for.
func (w *counting) cardsOf(set *workload.PodSet, spec *corev1.PodSpec, requests corev1.ResourceList) (ledger.Amounts, error) {
	named, names, err := demand.CardNames(set.Template.Annotations)
	if err != nil {
		return nil, err
	}
	asked := w.cardResources(requests)
	if len(asked) == 0 && names && len(spec.ResourceClaims) == 0 {
		asked = w.scalars(requests) // a member cluster may know that one of them is cards
	}
	var amounts ledger.Amounts
	for _, resource := range asked {
		quantity := requests[resource]
		if quantity.CmpInt64(math.MaxInt64) > 0 { // for the sum of containers, Value could be anything, even negative
			return nil, fmt.Errorf("a pod requests %s of %s, which is more than can be counted: request less", quantity.String(), resource)
		}
		count := quantity.Value()
		among, unlisted := w.among(resource, named)
		if len(among) > 1 && !names {
			w.note("pods that request %s name no card, so that each of %s counts: name the card in annotation %s", resource, strings.Join(among, ", "), card.NameAnnotation)
		}
		for _, name := range unlisted {
			if err := w.refuse(name, count, set.Count); err != nil {
				return nil, err
			}
		}
		var err error
		if amounts, err = w.plusCards(amounts, among, count); err != nil {
			return nil, err
		}
	}
	return amounts, nil
}

// plusCards adds a number of each card.
func (w *counting) plusCards(amounts ledger.Amounts, cards []string, count int64) (ledger.Amounts, error) {
	var err error
	for _, name := range cards {
		o := w.counter.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})
		if amounts, err = amounts.Plus(o, ledger.Units(count)); err != nil {
			return nil, err
		}
	}
	return amounts, nil
}

// among returns the listed cards that a resource may be, and the unlisted ones: cards that the pod names, or the resource itself.
func (w *counting) among(resource corev1.ResourceName, named []string) (listed, unlisted []string) {
	for _, name := range named {
		switch {
		case !card.MayBe(resource, name):
		case w.listsCard(name):
			listed = append(listed, name)
		default:
			unlisted = append(unlisted, name)
		}
	}
	if len(listed)+len(unlisted) > 0 {
		return listed, unlisted
	}
	// A pod that names no card of the resource must not bypass the quotas.
	if listed = w.mayBe(resource); len(listed) == 0 {
		unlisted = []string{string(resource)}
	}
	return listed, unlisted
}

func (c *Counter) listsCard(name string) bool {
	_, listed := slices.BinarySearch(c.cards, name)
	return listed
}

// maxMay bounds the remembered resources, because users may write any names.
const maxMay = 1000

// mayBe returns the listed cards that a resource may stand for.
func (c *Counter) mayBe(resource corev1.ResourceName) []string {
	cards, known := c.may[resource]
	if !known {
		for _, name := range c.cards {
			if card.MayBe(resource, name) {
				cards = append(cards, name)
			}
		}
		if len(c.may) >= maxMay {
			clear(c.may)
		}
		c.may[resource] = cards
	}
	return cards
}

// cardResources returns the requested resources that look like cards, sorted. It omits resources of a DeviceClass with a card name,
// because they count as its devices.
func (w *counting) cardResources(requests corev1.ResourceList) []corev1.ResourceName {
	return w.requested(requests, card.LooksLikeCards)
}

// scalars returns the requested extended resources.
func (w *counting) scalars(requests corev1.ResourceList) []corev1.ResourceName {
	return w.requested(requests, func(name corev1.ResourceName) bool {
		domain, _, found := strings.Cut(string(name), "/")
		return found && !strings.HasSuffix(domain, "kubernetes.io")
	})
}

func (w *counting) requested(requests corev1.ResourceList, is func(corev1.ResourceName) bool) []corev1.ResourceName {
	var names []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		quantity := requests[name]
		class, _ := w.catalog.Extended(name)
		if quantity.Sign() > 0 && w.catalog.Card(class) == "" && is(name) {
			names = append(names, name)
		}
	}
	return names
}

// cardRequest returns the cards in the annotation volcano.sh/card.request of a PodGroup.
func (w *counting) cardRequest(text string) (ledger.Amounts, error) {
	if text == "" {
		return nil, nil
	}
	requests, err := card.Requests(text)
	var amounts ledger.Amounts
	for _, r := range requests {
		for _, name := range r.Among {
			if w.listsCard(name) {
				amounts, err = w.plusCards(amounts, []string{name}, r.Count)
			} else if r.Count > 0 {
				err = w.refuse(name, r.Count, 1)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return amounts, err
}
