// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Pod is the demand of a pod. A pod that changes is another object, so that all but the cards and the
// claims of a Pod stays the same as long as the counter remembers it.
type Pod struct {
	// The fields that a session reads for every pod come first, so that they share cache lines.

	// round is the last round in which the pod was asked for.
	round uint64
	// edition is the edition of the fleet when the cards of the pod were counted.
	edition int
	// Queue is the queue that the pod belongs to. It is valid in one ledger, and only if InLedger is set:
	// the ledger may lack the queue. Whoever builds the ledger sets both fields.
	Queue ledger.QueueID
	// InLedger says that Queue is valid.
	InLedger bool
	// HasClaims says that the pod uses ResourceClaims.
	HasClaims bool
	// unknown says that the pod asks for a resource that nobody offers.
	unknown bool
	// chargedQueue is the queue that the pod is charged to as long as it runs, see RememberQueue.
	chargedQueue string
	// stale says that the pod must be counted anew. Only Object, Queue, and InLedger are valid until then.
	stale bool
	// Cards is the cards that the pod asks for. It is nil if the pod asks for no card, or only for cards
	// whose names nobody knows: see UnnamedCards.
	Cards *PodCards
	// Demand is all that the pod is charged: the part of its resources, the part of its cards if it asks for
	// cards, and the parts of the claims that exist and can be counted.
	Demand ledger.Demand
	// Resources is the part of Demand that stands for resources.
	Resources ledger.Part
	// own is the memory of a Demand without claims.
	own [2]*ledger.Part

	// Object is the pod. It must not be changed.
	Object *corev1.Pod
	// Claims is the demand of the claims that exist and can be counted.
	Claims []*Claim
	// awaited is what the claims will ask for at least that have not been created from their templates yet. Who creates them
	// may be late: until then, other jobs must not take the room.
	awaited ledger.Amounts
	// UnnamedCards is a resource that the pod requests and that stands for cards whose names no node's
	// labels say. It is empty if there is none, or if Cards is set.
	UnnamedCards corev1.ResourceName
	// Checked is the part of Demand that must fit the quota: all of it, unless pods with cards are exempt
	// from the limits of cpu and memory.
	Checked ledger.Demand
	// Err says why the pod cannot be counted in full. It is nil if the pod can be counted.
	Err error

	// extended is what the pod requests of resources that DeviceClasses offer. It is nil if that is nothing.
	extended *extended
	// variantOf says which way of getting its extended resources this variant of a pod stands for. It is nil for the pod itself.
	variantOf *variantOf

	resourcesErr, cardsErr, claimsErr error
	// scalars are the resources other than cpu and memory that the pod requests, init containers and overhead included.
	// Resources that something else accounts for are left out.
	scalars []corev1.ResourceName
}

// Asked is all that must fit the quota so that the pod can be placed: the least that it would be charged, and
// one alternative of each choice. LimitsCards says that the pod's queue limits cards.
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

// Own is the part of Demand that no other pod can hold: its resources and its cards.
func (p *Pod) Own() ledger.Demand {
	if p.Cards != nil {
		return p.Demand[:2]
	}
	return p.Demand[:1]
}

// Wants reports whether a claim of the pod asks for devices of a class and is not allocated yet.
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

// AsksForDevices reports whether the pod, or this variant of it, asks for a card or a device. A pod may name a card without requesting one,
// and have claims for nothing, or for administrative access.
func (p *Pod) AsksForDevices() bool {
	return p.extended != nil || p.UnnamedCards != "" || p.Cards != nil && len(p.Cards.Requests) > 0 || len(p.awaited) > 0 ||
		slices.ContainsFunc(p.Claims, (*Claim).asksForDevices)
}

// compose puts the demand together from its parts.
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
