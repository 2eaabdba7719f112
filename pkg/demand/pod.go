// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Pod is the demand of a pod. A changed pod is another object. Therefore only the cards and claims of a Pod change
// while the counter remembers it.
type Pod struct {
	// The fields that a session reads for every pod come first, to share cache lines.

	// round is the last round in which the pod was used.
	round uint64
	// generation is the generation of the fleet when the cards were counted.
	generation int
	// Queue is the queue of the pod. It is valid in one ledger, and only if InLedger is set, because the ledger may
	// lack the queue. The builder of the ledger sets both fields.
	Queue ledger.QueueID
	// InLedger says that Queue is valid.
	InLedger bool
	// HasClaims says that the pod uses ResourceClaims.
	HasClaims bool
	// unknownIn is set if the pod requests an unknown resource, see UnknownResourceError.
	unknownIn vocabulary
	// chargedPath is the queue that the pod is charged to while it runs, and its ancestors, see RememberQueue.
	chargedPath []string
	// stale says that the pod must be counted anew. Until then, only Object, Queue and InLedger are valid.
	stale bool
	// Cards is the card demand of the pod. It is nil if the pod asks for no cards, or only for cards with unknown names, see UnnamedCards.
	Cards *PodCards
	// Demand is the total charge of the pod. It has a part for resources, a part for cards, if any, and a part for each
	// claim that exists and can be counted.
	Demand ledger.Demand
	// Resources is the part of Demand for resources.
	Resources ledger.Part
	// own stores a Demand without claims.
	own [2]*ledger.Part

	// Object is the pod. Callers must not change it.
	Object *corev1.Pod
	// Claims is the demand of the claims that exist and can be counted.
	Claims []*Claim
	// named remembers the claims in the spec of the pod. It is nil until they are counted.
	named *resolved
	// awaited is the least demand of claims that are not created from their templates yet. Until then, other jobs must not take the room.
	awaited ledger.Amounts
	// UnnamedCards is a requested resource that stands for cards whose names are in no node's labels. It is empty if
	// there is none, or if Cards is set.
	UnnamedCards corev1.ResourceName
	// Checked is the part of Demand that must fit the quota. It is all of Demand, unless pods with cards are exempt
	// from the limits of cpu and memory.
	Checked ledger.Demand
	// Err says why the pod cannot be counted completely. It is nil if it can be counted.
	Err error

	// extended is the pod's request for resources that DeviceClasses offer. It is nil if there is none.
	extended *extended
	// variantOf describes how this variant of a pod gets its extended resources. It is nil for the pod itself.
	variantOf *variantOf

	resourcesErr, cardsErr, claimsErr error
	// scalars lists the requested resources other than cpu and memory, including init containers and overhead. It
	// leaves out resources that are accounted for elsewhere.
	scalars []corev1.ResourceName
}

// Asked returns everything that must fit the quota to place the pod: the least charge, and one alternative of each
// choice. limitsCards says that the pod's queue limits cards.
func (p *Pod) Asked(limitsCards bool) ledger.Demand {
	asked := p.Checked
	if limitsCards && p.Cards != nil && !p.Cards.assigned {
		asked = p.Cards.asked
	}
	for _, claim := range p.Claims {
		if len(claim.Choices) > 0 {
			asked = append(slices.Clip(asked), claim.Choices...)
		}
	}
	return asked
}

// Own returns the part of Demand that no other pod can hold: the resources and the cards.
func (p *Pod) Own() ledger.Demand {
	if p.Cards != nil {
		return p.Demand[:2]
	}
	return p.Demand[:1]
}

// Wants reports whether an unallocated claim of the pod asks for devices of a class.
func (p *Pod) Wants(class string) bool {
	for _, claim := range p.Claims {
		if claim.Object.Status.Allocation != nil {
			continue
		}
		for wanted := range claim.Usage.Classes {
			if wanted == class {
				return true
			}
		}
	}
	return false
}

// AsksForDevices reports whether this variant of the pod asks for a card or a device. A pod may name a card without a request for it. Its
// claims may ask for nothing, or for administrative access.
func (p *Pod) AsksForDevices() bool {
	return p.extended != nil || p.UnnamedCards != "" || p.Cards != nil && len(p.Cards.Requests) > 0 || len(p.awaited) > 0 ||
		slices.ContainsFunc(p.Claims, (*Claim).asksForDevices)
}

func (p *Pod) compose(resources *Resources, cardUnlimitedCPUMemory bool) {
	p.Demand = p.own[:1]
	p.Err = cmp.Or(p.resourcesErr, p.cardsErr, p.claimsErr)
	if p.Cards != nil {
		p.own[1] = &p.Cards.Part
		p.Demand = p.own[:]
	}
	for _, claim := range p.Claims {
		p.Demand = append(p.Demand, claim.Part)
	}
	p.Checked = p.Demand
	if cardUnlimitedCPUMemory && p.AsksForDevices() {
		p.Checked = slices.Clone(p.Demand)
		p.Checked[0] = ledger.NewPart(resources.WithoutCPUMemory(p.Resources.Amounts()))
	}
	if p.Cards != nil {
		p.Cards.asked = append(slices.Clip(p.Checked), p.Cards.Choices...)
	}
}

// ChargedPath returns the queue that a pod is charged to while it runs, followed by its ancestors. It is nil if the queue is not decided yet.
func (p *Pod) ChargedPath() []string { return p.base().chargedPath }

// RememberQueue records the queue that a pod is charged to while it runs, and its ancestors. The record outlives changes of the pod and its job.
func (c *Counter) RememberQueue(p *Pod, path []string) {
	base := p.base()
	base.chargedPath = path
	c.charged[base.Object.UID] = base
}

// ForgetQueue undoes RememberQueue for a pod that did not get a node.
func (c *Counter) ForgetQueue(p *Pod) {
	if base := p.base(); base.chargedPath != nil {
		base.chargedPath = nil
		delete(c.charged, base.Object.UID)
	}
}
