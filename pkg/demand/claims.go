// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Claim is the demand of a ResourceClaim.
type Claim struct {
	// Object is the claim when it was last counted. Callers must not change it.
	Object *resourceapi.ResourceClaim
	// Usage is the request or the allocation of the claim.
	Usage dra.Usage
	// Part is the claim's part of demands. It stays the same part during one round. It is empty if Err is set. For an
	// open claim without an allocation, it contains the least amounts.
	Part *ledger.Part
	// Choices has a part for each choice among alternatives. These parts are only for checks. A charge needs the chosen alternative.
	Choices []*ledger.Part
	// Open says that the amounts depend on the picked devices.
	Open bool
	// Err says why the claim cannot be counted, and names the mistake. It is nil if the claim can be counted.
	Err error

	round uint64
	// changed is the last round in which the demand has changed, or may have. compared is the last one in which Object was compared with the
	// claim that the name stands for.
	changed, compared uint64
	// users has the pods that the claim is reserved for, if there are many.
	users map[types.UID]bool
	// extended maps the requests of a claim for extended resources to these resources. The pod owner is charged for the
	// resources themselves.
	extended map[string]corev1.ResourceName
	owner    types.UID
	// assigned says that Part contains the picked amounts.
	assigned bool
	// least and choices are the values of Part and Choices while nothing is picked.
	least   ledger.Amounts
	choices []*ledger.Part
	// common is the sum of the amounts that all alternatives of a choice have in common. differing has what they have beyond it, and either the
	// most of each dimension in it.
	common    ledger.Amounts
	either    ledger.Amounts
	differing []Choice
	// generation, listing, seen and limited are further inputs of the demand. Published device data matters only to claims
	// with limited capacities.
	generation int
	listing    int
	seen       *dra.Catalog
	limited    bool
	// namesNone says that the claim names a class that did not exist when there were this many dimensions.
	namesNone  bool
	dimensions int
}

// Claims remembers the demand of claims, so an unchanged claim costs only a lookup. It works in rounds. Within one
// round, the demand of a claim stays the same even if the object changes. Claims is not safe for concurrent use.
type Claims struct {
	deviceCounter
	claims map[types.UID]*Claim
	// templates has the claim templates counted in this round.
	templates map[*resourceapi.ResourceClaimTemplate]templateCount
	round     uint64
	// generation counts changes of the card models of classes, and of the classes that devices count for.
	generation int
	// next applies from the next round on.
	next Matching
}

// NewClaims returns a Claims that remembers no claims yet.
func NewClaims(dimensions *ledger.Dimensions) *Claims {
	return &Claims{deviceCounter: deviceCounter{dimensions: dimensions}, claims: map[types.UID]*Claim{}, templates: map[*resourceapi.ResourceClaimTemplate]templateCount{}}
}

// Begin begins a round with a new ledger, so parts may change. Callers must read the limits of the queues first.
// catalog holds the published devices. It is nil while they are unknown.
func (cs *Claims) Begin(catalog *dra.Catalog) {
	if cs.round++; cs.catalog != catalog && !catalog.SameNames(cs.catalog) {
		cs.generation++
	}
	cs.catalog = catalog
	clear(cs.templates)
	if cs.matching.use(cs.next, catalog, cs.dimensions) {
		cs.generation++
	}
}

// Forget drops all claims that were not used in this round.
func (cs *Claims) Forget() {
	maps.DeleteFunc(cs.claims, func(_ types.UID, c *Claim) bool { return c.round != cs.round })
}

// All calls yield for every remembered claim, including claims not used in this round yet.
func (cs *Claims) All(yield func(*Claim) bool) { maps.Values(cs.claims)(yield) }

// Known returns the demand of a remembered claim, or nil.
func (cs *Claims) Known(uid types.UID) *Claim { return cs.claims[uid] }

// Of returns the demand of a claim.
func (cs *Claims) Of(object *resourceapi.ResourceClaim) *Claim {
	c := cs.claims[object.UID]
	if c == nil {
		c = &Claim{Part: ledger.NewPart(nil)}
		cs.claims[object.UID] = c
	}
	if c.round == cs.round {
		return c
	}
	c.round = cs.round
	if c.Object != object || c.generation != cs.generation || c.listing != cs.dimensions.CapacityCount() || cs.republished(c) || cs.mayName(c) {
		cs.evaluate(c, object)
	}
	if c.assigned || !c.Part.Is(c.least) {
		c.Part, c.assigned = ledger.NewPart(c.least), false
	}
	c.Choices = c.choices
	return c
}

// mayName reports whether a claim names a class that did not exist but may exist now.
func (cs *Claims) mayName(c *Claim) bool {
	return c.namesNone && (c.seen != cs.catalog || c.dimensions != cs.dimensions.Len())
}

func (cs *Claims) evaluate(c *Claim, object *resourceapi.ResourceClaim) {
	usage, err := usageOf(object, cs.catalog)
	if err == nil && c.Object != nil {
		usage.Recall(&c.Usage)
	}
	switch {
	case err != nil || c.extended == nil:
	case dra.UsedByAnother(c.owner, object):
		usage.SetExtended(object, nil)
	default:
		usage.SetExtended(object, c.extended)
	}
	if cs.matching.Matcher == nil {
		for i := range usage.Devices {
			usage.Devices[i].Published = nil // counting does not need it, and it keeps the memory of old ResourceSlices
		}
	}
	c.changed, c.users = cs.round, usersOf(object)
	c.Object, c.seen, c.generation, c.listing = object, cs.catalog, cs.generation, cs.dimensions.CapacityCount()
	c.limited, c.namesNone, c.dimensions = cs.limits(&usage), cs.namesNone(&usage), cs.dimensions.Len()
	c.Usage, c.least, c.choices, c.common, c.either, c.differing, c.Open, c.Err = dra.Usage{}, nil, nil, nil, nil, nil, false, nil
	if err == nil {
		var alternatives [][]ledger.Amounts
		c.least, alternatives, c.Open, err = cs.count(usage)
		c.Open = c.Open && object.Status.Allocation == nil
		for _, a := range alternatives {
			c.choices = append(c.choices, ledger.NewPart(nil, a...))
			all := common(a)
			c.common = Sum(c.common, all)
			choice := Choice{Pods: 1, Alternatives: beyond(a, all)}
			c.differing, c.either = addChoice(c.differing, choice), Sum(c.either, choice.most())
		}
	}
	if err != nil {
		c.Err = fmt.Errorf("ResourceClaim %s/%s: %w", object.Namespace, object.Name, err)
		return
	}
	c.Usage = usage
}

// manyUsers is the number of users of a claim above which they are looked up instead of compared. Each pod that names a claim asks for itself.
const manyUsers = 8

// usersOf returns the pods that a claim is reserved for, nil if there are few.
func usersOf(object *resourceapi.ResourceClaim) map[types.UID]bool {
	if len(object.Status.ReservedFor) <= manyUsers {
		return nil
	}
	users := make(map[types.UID]bool, len(object.Status.ReservedFor))
	for i := range object.Status.ReservedFor {
		users[object.Status.ReservedFor[i].UID] = true
	}
	return users
}

// HeldBy reports whether the claim is allocated and reserved for the pod.
func (c *Claim) HeldBy(pod *corev1.Pod) bool {
	if c.users == nil {
		return dra.HeldBy(pod, c.Object)
	}
	return c.Object.Status.Allocation != nil && c.users[pod.UID]
}

// asksForDevices reports whether a claim requests or holds a device that counts.
func (c *Claim) asksForDevices() bool { return len(c.Usage.Devices)+len(c.Usage.Choices) > 0 }

func usageOf(object *resourceapi.ResourceClaim, catalog *dra.Catalog) (dra.Usage, error) {
	if object.Status.Allocation != nil {
		return dra.Allocated(&object.Spec, object.Status.Allocation, catalog)
	}
	return dra.Requested(&object.Spec)
}

// republished reports whether changes of the published devices may change the demand of a claim.
func (cs *Claims) republished(c *Claim) bool {
	switch {
	case c.seen == cs.catalog || !c.limited && cs.matching.Matcher == nil:
		return false
	case c.Err != nil || cs.matching.Matcher == nil:
		return true
	}
	for i := range c.Usage.Devices {
		d := &c.Usage.Devices[i]
		if published, _ := cs.catalog.Device(d.ID); published != d.Published {
			return true
		}
	}
	if c.limited && c.Object.Status.Allocation == nil && c.Usage.NamesCapacity() {
		return true // the capacity that a request names depends on the drivers that publish it
	}
	c.seen = cs.catalog
	return false
}
