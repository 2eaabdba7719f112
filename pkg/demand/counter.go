// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/record"
)

// Options change what counts.
type Options struct {
	// CardUnlimitedCPUMemory exempts pods and jobs that ask for a card or a device from the limits of cpu and
	// memory.
	CardUnlimitedCPUMemory bool
	// CapacityCardMode counts cpu, memory, pods, and cards only.
	CapacityCardMode bool
}

// Counter counts what pods and jobs ask for, and remembers it. It works in rounds: within one round
// the demand of a pod stays the same, except for what is assigned to it. It is not safe for
// concurrent use.
type Counter struct {
	// Dimensions has everything that counts.
	Dimensions *ledger.Dimensions
	// Resources translates resources.
	Resources *Resources
	// Claims remembers claims.
	Claims *Claims
	// Fleet is the cards that the nodes offer. It must not change during a round.
	Fleet *card.Fleet

	options Options
	serving Serving
	reader  dra.ClaimReader
	// offers is the catalog whose extended resources have dimensions.
	offers *dra.Catalog
	round  uint64
	pods   map[*corev1.Pod]*Pod
	// asked is how many pods have been asked for in this round.
	asked int
	// assigned has the pods that have a node and ask for cards, by UID. The cards that a pod is charged stay
	// the same as long as the pod runs, even if the pod object or its node changes.
	assigned map[types.UID]*Pod
	// charged has the pods that run and whose queue has been decided, by UID. It stays the same, even if the pod object changes or
	// its job is in another queue.
	charged map[types.UID]*Pod
	// last is the pod that was added last.
	last *Pod
}

// NewCounter returns a counter of cards of a fleet. Ignored reports whether a resource never counts.
func NewCounter(fleet *card.Fleet, ignored func(corev1.ResourceName) bool) *Counter {
	dimensions := &ledger.Dimensions{}
	return &Counter{
		Dimensions: dimensions, Resources: NewResources(dimensions, ignored), Claims: NewClaims(dimensions), Fleet: fleet,
		pods: map[*corev1.Pod]*Pod{}, assigned: map[types.UID]*Pod{}, charged: map[types.UID]*Pod{},
	}
}

// Configure sets the options, and who serves extended resources. If another DeviceClass offers one, pods are counted anew.
func (c *Counter) Configure(options Options, serving Serving) {
	changed := options != c.options
	c.options, c.Resources.basicOnly, c.serving = options, options.CapacityCardMode, serving
	if c.Resources.reclassify(serving.class) || changed {
		c.Reset()
	}
}

// Reset has the demand of all pods counted anew. Cards that are assigned stay assigned.
func (c *Counter) Reset() {
	for _, p := range c.pods {
		p.stale = true
	}
	c.last = nil
}

// Options returns the options that are in force.
func (c *Counter) Options() Options { return c.options }

// Begin begins a round, and with it a new ledger whose limits have been read. Reader reads claims and
// templates. Catalog is what is published of devices, nil while nothing is known.
func (c *Counter) Begin(reader dra.ClaimReader, catalog *dra.Catalog) {
	c.round++
	c.asked = 0
	c.reader = reader
	c.internOffers(catalog)
	c.Claims.Begin(catalog)
}

// Known returns the demand of a pod that has been added since the last reset, nil for any other pod. Of a pod with variants, it
// is the one that counts.
func (c *Counter) Known(object *corev1.Pod) *Pod {
	if p := c.pods[object]; p != nil && !p.stale {
		return p.counting()
	}
	return nil
}

// Outdated reports whether a pod must be added again, because it asks for a resource that nobody offered in an earlier
// round.
func (c *Counter) Outdated(p *Pod) bool { return p.unknown && p.base().round != c.round }

// Add begins to remember a pod. Requests are its effective requests as Volcano counts them. Scalars has the resources that the pod
// requests, init containers included: they decide whether the pod may ask for cards. The demand is complete after Refresh. The error says why the resources of
// the pod cannot be counted; the pod is remembered all the same, and its Err says so, too.
func (c *Counter) Add(object *corev1.Pod, requests Values, scalars map[corev1.ResourceName]float64) (*Pod, error) {
	p := &Pod{Object: object, edition: -1, HasClaims: len(object.Spec.ResourceClaims) > 0 || object.Status.ExtendedResourceClaimStatus != nil}
	if before := c.pods[object]; before != nil {
		p.Queue, p.InLedger = before.Queue, before.InLedger
	}
	c.inheritQueue(p)
	p.scalars = slices.Sorted(maps.Keys(scalars))
	requests, uncountable := completed(requests, object)
	amounts, err := c.Resources.Requested(requests)
	err = cmp.Or(uncountable, err)
	if names := c.Resources.extendedNames(&object.Spec); len(names) > 0 || c.hasExtendedClaim(p) {
		// A pod keeps its devices even if no class offers the resource any more.
		p.extended = &extended{names: names}
	}
	p.resourcesErr, p.unknown = err, errors.As(err, new(UnknownResourceError))
	// Pods of one job mostly ask for the same. Sharing the list saves memory and time.
	if c.last != nil && slices.Equal(c.last.scalars, p.scalars) {
		p.scalars = c.last.scalars
	}
	if c.last != nil && c.last.Resources.Is(amounts) {
		p.Resources = c.last.Resources.Twin()
	} else {
		p.Resources = ledger.MakePart(amounts)
	}
	p.own[0] = &p.Resources
	c.last, c.pods[object] = p, p
	return p, err
}

// Refresh counts anew what has changed since the last round. Of a pod with variants, Settle counts these.
func (c *Counter) Refresh(p *Pod) {
	if base := p.base(); base.round != c.round {
		c.asked++
		c.count(base)
	}
}

func (c *Counter) count(p *Pod) {
	if p.round == c.round {
		return
	}
	p.round = c.round
	counted := p.edition == c.Fleet.Edition()
	if !counted {
		c.countCards(p)
		p.edition = c.Fleet.Edition()
	}
	if p.HasClaims {
		p.Claims, p.claimsErr = c.claimsOf(p)
		p.awaited = nil
		if p.claimsErr != nil {
			p.awaited = c.Claims.awaited(p.Object, c.reader)
		}
	}
	if p.HasClaims || !counted || p.Checked == nil {
		p.compose(c.Resources, c.options.CardUnlimitedCPUMemory)
	}
}

// Unasked calls yield for each pod that has been asked for in an earlier round, and not in this one.
func (c *Counter) Unasked(yield func(*Pod) bool) {
	if len(c.pods) == c.asked {
		return // for speed alone: mostly, no pod is gone
	}
	for _, p := range c.pods {
		if p.round != c.round && !yield(p) {
			return
		}
	}
}

// Forget drops the pods that nobody has asked for in this round. The cards and the queue of a pod are remembered while runs returns true
// for it, because its job may come back.
func (c *Counter) Forget(runs func(*corev1.Pod) bool) {
	if len(c.pods) == c.asked {
		return
	}
	maps.DeleteFunc(c.pods, func(_ *corev1.Pod, p *Pod) bool { return p.round != c.round })
	gone := func(_ types.UID, p *Pod) bool { return p.round != c.round && !runs(p.Object) }
	maps.DeleteFunc(c.assigned, gone)
	maps.DeleteFunc(c.charged, gone)
}

// countCards counts the cards that a pod asks for. The pod keeps the cards that it is charged.
func (c *Counter) countCards(p *Pod) {
	var before *PodCards
	if assigned := c.assigned[p.Object.UID]; assigned != nil && slices.Equal(assigned.Served(), p.Served()) {
		before = assigned.Cards
	}
	p.Cards, p.cardsErr, p.UnnamedCards = nil, nil, ""
	if p.extended != nil || before == nil && !c.mayAskForCards(p) {
		return // the variants of a pod have its cards
	}
	has := before != nil || p.Object.Spec.NodeName != "" && record.CardsOf(p.Object) != nil
	cards, err := CardsOf(p.Object.Annotations, &p.Object.Spec, p.Served(), c.Fleet, c.Dimensions)
	if err != nil {
		p.cardsErr = err
		// The cards that the pod holds count in any case. Without the annotation there is no error.
		cards, _ = CardsOf(nil, &p.Object.Spec, p.Served(), c.Fleet, c.Dimensions)
	}
	if !has && (cards == nil || len(cards.Names) == 0 && !cards.Named()) {
		if cards != nil {
			p.UnnamedCards = cards.Unnamed()
		}
		return
	}
	if cards == nil {
		cards = &Cards{} // no node offers the cards that the pod holds any more
	}
	p.Cards = newPodCards(cards, c.Dimensions)
	if before != nil {
		p.Cards.inherit(before)
		c.Remember(p)
	}
}

// mayAskForCards reports whether a pod may ask for cards. What it asks for depends on the nodes.
func (c *Counter) mayAskForCards(p *Pod) bool {
	if _, names := p.Object.Annotations[card.NameAnnotation]; names {
		return true
	}
	return slices.ContainsFunc(p.scalars, c.Fleet.IsCard)
}

// RequestsCards reports whether a container of the pod requests a resource that stands for cards.
func RequestsCards(pod *corev1.Pod, fleet *card.Fleet) bool {
	requests := func(container corev1.Container) bool {
		for name := range container.Resources.Requests {
			if fleet.IsCard(name) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, requests) || slices.ContainsFunc(pod.Spec.InitContainers, requests)
}

// Remember makes the cards that are assigned to a pod outlive changes of the pod and of its node.
func (c *Counter) Remember(p *Pod) {
	if !p.Cards.remembered {
		p.Cards.remembered = true
		c.assigned[p.Object.UID] = p
	}
}

// Unassign takes back the cards that are assigned to a pod, which may have none.
func (c *Counter) Unassign(p *Pod, books *ledger.Ledger) error {
	if p.Cards == nil {
		return nil
	}
	if p.Cards.remembered {
		p.Cards.remembered = false
		delete(c.assigned, p.Object.UID)
	}
	return p.Cards.unassign(books)
}

// Sum adds amounts that are in the ledger, or may be there soon. The ledger has reported an overflow
// already, so that this sum leaves out what overflows.
func Sum(sum, more ledger.Amounts) ledger.Amounts {
	total, err := sum.PlusAll(more)
	if err != nil {
		return sum
	}
	return total
}

// Assigned is the number of pods whose assigned cards are remembered.
func (c *Counter) Assigned() int { return len(c.assigned) }
