// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Claim is the demand of a ResourceClaim.
type Claim struct {
	// Object is the claim as it was when it was last counted. It must not be changed.
	Object *resourceapi.ResourceClaim
	// Usage is what the claim asks for or holds.
	Usage dra.Usage
	// Part is the same as a part of a demand. It stays the same part during one round. It is empty if
	// Err is set. Before the claim is allocated, it is the least that the claim may get if Open is set.
	Part *ledger.Part
	// Choices has a part for each choice among alternatives. These parts are for checks only: a charge
	// needs the alternative that was chosen.
	Choices []*ledger.Part
	// Open says that the amounts depend on the devices that are picked.
	Open bool
	// Err says why the claim cannot be counted and names what is wrong. It is nil if the claim can be counted.
	Err error

	round uint64
	// extended has the extended resource of each request if the claim is for those of a pod, the owner, which is charged for the
	// resources as such.
	extended map[string]corev1.ResourceName
	owner    types.UID
	// assigned says that Part has what was picked for the claim.
	assigned bool
	// least and choices are what Part and Choices are while nothing has been picked.
	least   ledger.Amounts
	choices []*ledger.Part
	// edition, listing, seen, and limited are what else the demand was counted from. What is published of
	// devices matters only to claims whose capacity is limited.
	edition int
	listing int
	seen    *dra.Catalog
	limited bool
	// namesNone says that the claim names a class that did not exist when there were so many dimensions.
	namesNone  bool
	dimensions int
}

// Claims remembers the demand of claims, so that a claim that has not changed costs a lookup. It works
// in rounds: within one round, a claim has the same demand even if the object changes. It is not safe
// for concurrent use.
type Claims struct {
	deviceCounter
	claims map[types.UID]*Claim
	round  uint64
	// edition counts changes of the card models of classes, and of the classes that devices count for.
	edition int
	// next is what the next round counts by.
	next Matching
}

// NewClaims returns a memory without claims.
func NewClaims(dimensions *ledger.Dimensions) *Claims {
	return &Claims{deviceCounter: deviceCounter{dimensions: dimensions}, claims: map[types.UID]*Claim{}}
}

// Begin begins a round and, with it, a new ledger, so that parts may change. The limits of the round's
// queues must have been read before. Catalog is what is published of devices, nil while nothing is
// known.
func (cs *Claims) Begin(catalog *dra.Catalog) {
	if cs.round++; cs.catalog != catalog && !catalog.SameNames(cs.catalog) {
		cs.edition++
	}
	cs.catalog = catalog
	if cs.matching.use(cs.next, catalog, cs.dimensions) {
		cs.edition++
	}
}

// Forget drops all claims that nobody has asked for in this round.
func (cs *Claims) Forget() {
	for uid, c := range cs.claims {
		if c.round != cs.round {
			delete(cs.claims, uid)
		}
	}
}

// All calls yield for every claim that is remembered, including those that nobody has asked for in
// this round yet.
func (cs *Claims) All(yield func(*Claim) bool) {
	for _, c := range cs.claims {
		if !yield(c) {
			return
		}
	}
}

// Known returns the demand of a claim that is remembered, nil for any other claim.
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
	if c.Object != object || c.edition != cs.edition || c.listing != cs.dimensions.CapacityCount() || cs.republished(c) || cs.mayName(c) {
		cs.evaluate(c, object)
	}
	if c.assigned || !c.Part.Is(c.least) {
		c.Part, c.assigned = ledger.NewPart(c.least), false
	}
	c.Choices = c.choices
	return c
}

// mayName reports whether a class that a claim names, and that did not exist, may exist by now.
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
	case c.usedByAnother(object):
		usage.SetExtended(object, nil)
	default:
		usage.SetExtended(object, c.extended)
	}
	if cs.matching.Matcher == nil {
		forgetPublished(&usage)
	}
	c.Object, c.seen, c.edition, c.listing = object, cs.catalog, cs.edition, cs.dimensions.CapacityCount()
	c.limited, c.namesNone, c.dimensions = cs.limits(&usage), cs.namesNone(&usage), cs.dimensions.Len()
	c.Usage, c.least, c.choices, c.Open, c.Err = dra.Usage{}, nil, nil, false, nil
	if err == nil {
		var alternatives [][]ledger.Amounts
		c.least, alternatives, c.Open, err = cs.count(usage)
		c.Open = c.Open && object.Status.Allocation == nil
		for _, a := range alternatives {
			c.choices = append(c.choices, ledger.NewPart(nil, a...))
		}
	}
	if err != nil {
		c.Err = fmt.Errorf("ResourceClaim %s/%s: %w", object.Namespace, object.Name, err)
		return
	}
	c.Usage = usage
}

// asksForDevices reports whether a claim asks for, or has, a device that counts.
func (c *Claim) asksForDevices() bool { return len(c.Usage.Devices)+len(c.Usage.Choices) > 0 }

// usedByAnother reports whether another pod than its owner uses an extended claim.
func (c *Claim) usedByAnother(object *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(object.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID != c.owner })
}

func usageOf(object *resourceapi.ResourceClaim, catalog *dra.Catalog) (dra.Usage, error) {
	if object.Status.Allocation != nil {
		return dra.Allocated(&object.Spec, object.Status.Allocation, catalog)
	}
	return dra.Requested(&object.Spec)
}

// forgetPublished drops what is not needed to count, so that it does not keep old ResourceSlices in memory.
func forgetPublished(usage *dra.Usage) {
	for i := range usage.Devices {
		usage.Devices[i].Published = nil
	}
}

// republished reports whether what is published now of the devices of a claim may count differently.
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
		return true // which capacity a request names depends on the drivers that publish it
	}
	c.seen = cs.catalog
	return false
}
