// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// extended is a pod's request for extended resources that a DeviceClass offers (KEP-5004). The charge depends on the node. Where
// DRA serves the resources, the pod is charged for the devices of a claim that the scheduler makes. On other nodes, it is charged
// for the cards in the labels of the node. Each way is a variant of the pod.
type extended struct {
	// names lists the resources, sorted.
	names []corev1.ResourceName
	// variants maps the resources that DRA serves to variants, see keyOf.
	variants map[string]*Pod
	// now is the variant that counts. It is the variant for the pod's node or, if all nodes are alike, for all nodes. It is nil
	// while the pod may get the resources in different ways.
	now *Pod
	// alternatives lists the variants that a pod without a node may get, preferred first. If there is only one, it is also now.
	alternatives []*Pod
	// round is the last round in which Settle ran.
	round uint64
}

type variantOf struct {
	base *Pod
	// served lists the extended resources that DRA serves.
	served []corev1.ResourceName
	// claim is the claim for served until the scheduler makes one. It is nil if served is empty.
	claim *resourceapi.ResourceClaim
	err   error
}

func keyOf(names []corev1.ResourceName) string {
	var key strings.Builder
	for _, name := range names {
		key.WriteString(string(name))
		key.WriteByte(',')
	}
	return key.String()
}

// extendedNames returns the resources that containers of a pod request and a DeviceClass offers, sorted.
func (r *Resources) extendedNames(spec *corev1.PodSpec) []corev1.ResourceName {
	return dra.ExtendedRequests(spec, func(name corev1.ResourceName) string {
		if known := r.asked(name); known != nil {
			return known.class
		}
		return ""
	})
}

// internOffers interns the dimension of each extended resource that a class offers, before claims are counted.
func (c *Counter) internOffers(catalog *dra.Catalog) {
	if catalog == c.offers {
		return
	}
	c.offers = catalog
	for class := range catalog.Classes {
		if name := catalog.Offers(class); name != "" {
			c.Resources.Ordinal(name)
		}
	}
}

// Alternatives returns the variants of a pod, preferred first, if it may get its extended resources in different ways. Some
// nodes serve them by DRA, others by device plugins. It is nil for any other pod.
func (p *Pod) Alternatives() []*Pod {
	if p.extended == nil || p.extended.now != nil {
		return nil
	}
	return p.extended.alternatives
}

// On returns the variant of a pod for nodes where DRA serves some resources. It returns the pod itself if the pod has no
// variants, and nil if the pod cannot get its extended resources there.
func (p *Pod) On(served []corev1.ResourceName) *Pod {
	if p.extended == nil || p.extended.now != nil {
		return p.counting()
	}
	key := keyOf(among(p.extended.names, served))
	for _, variant := range p.extended.alternatives {
		if keyOf(variant.variantOf.served) == key {
			return variant
		}
	}
	return nil
}

// Served returns the extended resources for which this variant of the pod gets devices. Callers must not change the list.
func (p *Pod) Served() []corev1.ResourceName {
	if p.variantOf == nil {
		return nil
	}
	return p.variantOf.served
}

// Plain reports whether the pod asks for neither devices nor cards.
func (p *Pod) Plain() bool { return !p.HasClaims && p.Cards == nil }

// MayGetDevices reports whether the pod has claims or may get a claim for its extended resources.
func (p *Pod) MayGetDevices() bool { return p.HasClaims || p.extended != nil }

// RequestsExtended reports whether the pod requests extended resources that a DeviceClass offers.
func (p *Pod) RequestsExtended() bool { return p.base().extended != nil }

// base returns the pod that has the variants, usually the pod itself.
func (p *Pod) base() *Pod {
	if p.variantOf != nil {
		return p.variantOf.base
	}
	return p
}

// counting returns the variant that counts, or the pod itself if it has no variants.
func (p *Pod) counting() *Pod {
	if p.extended != nil && p.extended.now != nil {
		return p.extended.now
	}
	return p
}

// Charge sets the queue of the pod and all its variants.
func (p *Pod) Charge(queue ledger.QueueID, inLedger bool) {
	base := p.base()
	base.Queue, base.InLedger = queue, inLedger
	if base.extended == nil {
		return
	}
	for _, variant := range base.extended.variants {
		variant.Queue, variant.InLedger = queue, inLedger
	}
}

// Settle determines the variant of a pod that counts, once per round, and returns it. placed says that the pod has a node. A
// pod without extended resources is its own only variant.
func (c *Counter) Settle(p *Pod, placed bool) *Pod {
	base := p.base()
	e := base.extended
	if e == nil || e.round == c.round {
		return base.counting()
	}
	e.round, e.now, e.alternatives = c.round, nil, nil
	if placed {
		e.now = c.variant(base, c.servedBy(base.Object))
		return e.now
	}
	sets := c.serving.sets(e.names)
	for _, served := range sets {
		e.alternatives = append(e.alternatives, c.variant(base, served))
	}
	if len(sets) == 1 {
		e.now = e.alternatives[0]
	}
	return base.counting()
}

// Place selects the variant of a pod for nodes where DRA serves these resources, and returns it.
func (c *Counter) Place(p *Pod, served []corev1.ResourceName) *Pod {
	base := p.base()
	if base.extended == nil {
		return base
	}
	base.extended.now = c.variant(base, among(base.extended.names, served))
	return base.extended.now
}

// Unplace undoes Place.
func (c *Counter) Unplace(p *Pod) {
	base := p.base()
	if e := base.extended; e != nil && len(e.alternatives) != 1 {
		e.now = nil
	}
}

// servedBy returns the extended resources that a placed pod has devices for.
func (c *Counter) servedBy(pod *corev1.Pod) []corev1.ResourceName {
	if claim := c.reader.ExtendedClaim(pod); claim != nil && standsFor(pod, claim) {
		return dra.ExtendedNames(pod, claim)
	}
	return nil
}

// hasExtendedClaim reports whether a pod has, or is about to get, a claim for its extended resources.
func (c *Counter) hasExtendedClaim(p *Pod) bool {
	if p.Object.Status.ExtendedResourceClaimStatus != nil {
		return true
	}
	return len(p.scalars) > 0 && c.reader != nil && c.reader.ExtendedClaim(p.Object) != nil
}

// standsFor reports whether an extended claim gives a pod devices for its requests. A claim that waits for devices or that another pod uses
// is not from the scheduler, because any user can write the annotation and the owner.
func standsFor(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return (claim.Status.Allocation != nil || dra.InMemory(claim)) && len(dra.ExtendedNames(pod, claim)) > 0
}

// variant returns a variant of a pod, counted in this round.
func (c *Counter) variant(base *Pod, served []corev1.ResourceName) *Pod {
	key := keyOf(served)
	v := base.extended.variants[key]
	if v == nil {
		v = &Pod{
			Object: base.Object, generation: -1, HasClaims: base.HasClaims || len(served) > 0, scalars: base.scalars,
			Resources: base.Resources.Twin(), resourcesErr: base.resourcesErr, unknownIn: base.unknownIn, variantOf: &variantOf{base: base, served: served},
		}
		v.own[0] = &v.Resources
		if len(served) > 0 {
			v.variantOf.claim, v.variantOf.err = dra.ExtendedClaim(base.Object, served, c.serving.class)
			if more := c.unrequested(base.Object, v.variantOf.claim); len(more) > 0 {
				v.Resources = ledger.MakePart(Sum(slices.Clone(base.Resources.Amounts()), more))
			}
		}
		if base.extended.variants == nil {
			base.extended.variants = map[string]*Pod{}
		}
		base.extended.variants[key] = v
	}
	v.Queue, v.InLedger = base.Queue, base.InLedger
	c.count(v)
	return v
}

// unrequested returns what a claim for extended resources has of them beyond the effective requests of the pod: containers that do not run at
// the same time may have devices of their own. Otherwise, a queue could have more than its capability of a resource.
func (c *Counter) unrequested(pod *corev1.Pod, claim *resourceapi.ResourceClaim) ledger.Amounts {
	if claim == nil {
		return nil
	}
	resources, effective, more := dra.ExtendedResources(pod, claim), requests.OfPod(pod), map[corev1.ResourceName]float64{}
	for i := range claim.Spec.Devices.Requests {
		if request := &claim.Spec.Devices.Requests[i]; request.Exactly != nil {
			more[resources[request.Name]] += 1000 * float64(request.Exactly.Count)
		}
	}
	for name := range more {
		requested := effective[name]
		more[name] = max(0, more[name]-float64(requested.MilliValue()))
	}
	amounts, err := c.Resources.Requested(Values{Scalars: more})
	if err != nil {
		return nil // then the requests of the pod cannot be counted either
	}
	return amounts
}

// claimsOf returns the demand of the claims of a pod or variant, including the claim for its extended resources. The error is
// about the first claim that the pod cannot have.
func (c *Counter) claimsOf(p *Pod) ([]*Claim, error) {
	if p.named == nil {
		p.named = &resolved{}
	}
	if p.extended != nil {
		return c.Claims.ofSpec(p.Object, c.reader, p.named) // the variants have the claim for the extended resources
	}
	extended, extendedErr := c.extendedClaim(p)
	claims, err := c.Claims.ofPod(p.Object, c.reader, p.named)
	if extended != nil && !slices.Contains(claims, extended) {
		claims = append(claims, extended)
	}
	return claims, cmp.Or(err, extendedErr)
}

// extendedClaim returns the demand of a variant's claim for extended resources. The error says why the variant cannot have it.
func (c *Counter) extendedClaim(v *Pod) (*Claim, error) {
	if v.variantOf == nil || len(v.variantOf.served) == 0 {
		return nil, nil
	}
	if v.variantOf.err != nil {
		return nil, v.variantOf.err
	}
	object := v.variantOf.claim
	if now := c.reader.ExtendedClaim(v.Object); now != nil && standsFor(v.Object, now) && slices.Equal(dra.ExtendedNames(v.Object, now), v.variantOf.served) {
		object = now
	}
	if object == nil {
		return nil, nil // no class offers the resources anymore
	}
	claim, err := c.Claims.checkedExtended(v.Object, object)
	if err == nil && object.Status.Allocation == nil {
		err = c.checkClassCards(v.Object.Annotations, v.variantOf.served)
	}
	return claim, err
}
