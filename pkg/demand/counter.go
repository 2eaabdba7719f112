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
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Options are settings that change the counting.
type Options struct {
	// CardUnlimitedCPUMemory exempts pods and jobs with cards or devices from the limits of cpu and memory.
	CardUnlimitedCPUMemory bool
	// CapacityCardMode counts only cpu, memory, pods, and cards.
	CapacityCardMode bool
}

// Counter counts and remembers the demand of pods and jobs. It works in rounds. Within one round, the demand of a pod
// changes only by assignments. Counter is not safe for concurrent use.
type Counter struct {
	// Dimensions holds all counted dimensions.
	Dimensions *ledger.Dimensions
	// Resources translates resources.
	Resources *Resources
	// Claims remembers claims.
	Claims *Claims
	// Fleet holds the cards of the nodes. It must not change during a round.
	Fleet *card.Fleet

	options Options
	serving Serving
	reader  dra.ClaimReader
	// offers is the catalog whose extended resources have dimensions.
	offers *dra.Catalog
	round  uint64
	pods   map[*corev1.Pod]*Pod
	// asked is the number of pods used in this round.
	asked int
	// assigned holds the pods with a node and cards, by UID. The charged cards of a pod stay the same while the pod
	// runs, even if the pod object or its node changes.
	assigned map[types.UID]*Pod
	// charged holds the running pods with a decided queue, by UID. The queue stays the same even if the pod object changes or its
	// job moves to another queue.
	charged map[types.UID]*Pod
	// last is the pod added last.
	last *Pod
	// templates remembers what the templates and the annotations of jobs without pods ask for.
	templates templates
}

// NewCounter returns a counter for the cards of a fleet. ignored reports whether a resource never counts.
func NewCounter(fleet *card.Fleet, ignored func(corev1.ResourceName) bool) *Counter {
	dimensions := &ledger.Dimensions{}
	return &Counter{
		Dimensions: dimensions, Resources: NewResources(dimensions, ignored), Claims: NewClaims(dimensions), Fleet: fleet,
		pods: map[*corev1.Pod]*Pod{}, assigned: map[types.UID]*Pod{}, charged: map[types.UID]*Pod{},
	}
}

// Configure sets the options, and how extended resources are served. If the options change or another DeviceClass offers a
// resource, all pods are counted anew.
func (c *Counter) Configure(options Options, serving Serving) {
	changed := options != c.options
	if !c.serving.same(&serving) {
		c.templates.forget()
	}
	c.options, c.Resources.basicOnly, c.serving = options, options.CapacityCardMode, serving
	if c.Resources.reclassify(serving.class) || changed {
		c.Reset()
	}
}

// Reset makes the counter count all pods anew. Assigned cards stay assigned.
func (c *Counter) Reset() {
	for _, p := range c.pods {
		p.stale = true
	}
	c.templates.forget()
	c.last = nil
}

// Begin begins a round with a new ledger. Callers must read the limits first. reader reads claims and templates.
// catalog holds the published devices. It is nil while they are unknown.
func (c *Counter) Begin(reader dra.ClaimReader, catalog *dra.Catalog) {
	c.round++
	c.asked = 0
	c.reader = reader
	c.internOffers(catalog)
	c.Claims.Begin(catalog)
	c.templates.begin(templateInputs{c.Fleet.Generation(), c.Dimensions.Len(), catalog})
}

// Known returns the demand of a pod that was added since the last reset, or nil. For a pod with variants, it returns the
// variant that counts.
func (c *Counter) Known(object *corev1.Pod) *Pod {
	if p := c.pods[object]; p != nil && !p.stale {
		return p.counting()
	}
	return nil
}

// vocabulary identifies the resources that are known at a time.
type vocabulary struct {
	resources int
	catalog   *dra.Catalog
}

func (c *Counter) vocabulary() vocabulary { return vocabulary{len(c.Resources.all), c.Claims.catalog} }

// Outdated reports whether a pod must be added again, because it requests a resource that was unknown, and more resources are known now. A
// pod may request thousands.
func (c *Counter) Outdated(p *Pod) bool {
	return p.unknownIn != vocabulary{} && p.unknownIn != c.vocabulary() && p.base().round != c.round
}

// Add starts to remember a pod. requests are its effective requests as Volcano counts them. scalars holds the requested resources including init
// containers. They decide whether the pod may ask for cards. The demand is complete after Refresh. The error says why the resources cannot be
// counted. The counter then remembers the pod anyway, and its Err contains the error.
func (c *Counter) Add(object *corev1.Pod, requests Values, scalars map[corev1.ResourceName]float64) (*Pod, error) {
	p := &Pod{Object: object, generation: -1, HasClaims: len(object.Spec.ResourceClaims) > 0 || object.Status.ExtendedResourceClaimStatus != nil}
	if before := c.pods[object]; before != nil {
		p.Queue, p.InLedger = before.Queue, before.InLedger
	}
	if before := c.charged[object.UID]; before != nil {
		c.RememberQueue(p, before.chargedPath)
	}
	p.scalars = slices.Sorted(maps.Keys(scalars))
	requests, uncountable := completed(requests, object)
	amounts, err := c.Resources.Requested(requests)
	err = cmp.Or(uncountable, err)
	if names := c.Resources.extendedNames(&object.Spec); len(names) > 0 || c.hasExtendedClaim(p) {
		// A pod keeps its devices even if no class offers the resource anymore.
		p.extended = &extended{names: names}
	}
	if p.resourcesErr = err; errors.As(err, new(UnknownResourceError)) {
		p.unknownIn = c.vocabulary()
	}
	// Pods of one job usually have the same requests. A shared list saves memory and time.
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

// Refresh counts changes since the last round. For pods with variants, Settle counts the variants.
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
	counted := p.generation == c.Fleet.Generation()
	if !counted {
		c.countCards(p)
		p.generation = c.Fleet.Generation()
	}
	if p.HasClaims {
		p.Claims, p.claimsErr = c.claimsOf(p)
		p.awaited = p.named.awaited
	}
	if p.HasClaims || !counted || p.Checked == nil {
		p.compose(c.Resources, c.options.CardUnlimitedCPUMemory)
	}
}

// Unasked calls yield for each pod used in an earlier round, but not in this one.
func (c *Counter) Unasked(yield func(*Pod) bool) {
	if len(c.pods) == c.asked {
		return // only for speed: usually, no pod is gone
	}
	for _, p := range c.pods {
		if p.round != c.round && !yield(p) {
			return
		}
	}
}

// Forget drops the pods not used in this round. It keeps the cards and the queue of a pod while runs returns true for it, because the
// job may come back.
func (c *Counter) Forget(runs func(*corev1.Pod) bool) {
	if len(c.pods) == c.asked {
		return
	}
	maps.DeleteFunc(c.pods, func(_ *corev1.Pod, p *Pod) bool { return p.round != c.round })
	gone := func(_ types.UID, p *Pod) bool { return p.round != c.round && !runs(p.Object) }
	maps.DeleteFunc(c.assigned, gone)
	maps.DeleteFunc(c.charged, gone)
}

// countCards counts the cards of a pod. The pod keeps its charged cards.
func (c *Counter) countCards(p *Pod) {
	var before *PodCards
	if assigned := c.assigned[p.Object.UID]; assigned != nil && slices.Equal(assigned.Served(), p.Served()) {
		before = assigned.Cards
	}
	p.Cards, p.cardsErr, p.UnnamedCards = nil, nil, ""
	if p.extended != nil || before == nil && !c.mayAskForCards(p) {
		return // the variants of the pod have its cards
	}
	has := before != nil || p.Object.Spec.NodeName != "" && chargerecord.CardsOf(p.Object) != nil
	cards, err := CardsOf(p.Object.Annotations, &p.Object.Spec, p.Served(), c.Fleet, c.Dimensions)
	if err != nil {
		p.cardsErr = err
		// Always count the cards that the pod holds. Without the annotation, there is no error.
		cards, _ = CardsOf(nil, &p.Object.Spec, p.Served(), c.Fleet, c.Dimensions)
	}
	if !has && (cards == nil || len(cards.Names) == 0 && !cards.Named()) {
		if cards != nil {
			p.UnnamedCards = cards.Unnamed()
		}
		return
	}
	if cards == nil {
		cards = &Cards{} // no node offers the held cards anymore
	}
	p.Cards = newPodCards(cards, c.Dimensions)
	if before != nil {
		p.Cards.inherit(before)
		c.Remember(p)
	}
}

// mayAskForCards reports whether a pod may ask for cards. The actual demand depends on the nodes.
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

// Remember keeps the assigned cards of a pod across changes of the pod and its node.
func (c *Counter) Remember(p *Pod) {
	if !p.Cards.remembered {
		p.Cards.remembered = true
		c.assigned[p.Object.UID] = p
	}
}

// Unassign takes back the assigned cards of a pod, if any.
func (c *Counter) Unassign(p *Pod, books *ledger.Ledger) error {
	if p.Cards == nil {
		return nil
	}
	if p.Cards.remembered {
		p.Cards.remembered = false
		delete(c.assigned, p.Object.UID)
	}
	p.Cards.charged, p.Cards.assigned = nil, false
	return books.Amend(&p.Cards.Part, nil)
}

// Sum adds amounts that are in the ledger or may be there soon. If the sum overflows, it returns the first argument,
// because the ledger already reported the overflow.
func Sum(sum, more ledger.Amounts) ledger.Amounts {
	total, err := sum.PlusAll(more)
	if err != nil {
		return sum
	}
	return total
}

// Assigned returns the number of pods with remembered cards.
func (c *Counter) Assigned() int { return len(c.assigned) }
