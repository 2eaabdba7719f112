// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// mostPicks bounds the combinations of alternatives that are tried on one node. Two requests with eight
// alternatives each, the maximum in the API, have 64.
const mostPicks = 100

// Allocator picks devices for claims, one node at a time, with Kubernetes' structured allocator. Several
// goroutines may call Pick at the same time, but not during Take or PutBack.
type Allocator struct {
	features structured.Features
	catalog  *Catalog
	taken    structured.AllocatedState
	celCache *cel.Cache
	// changes counts the calls of Take and PutBack.
	changes uint64
}

// NewAllocator returns an allocator for the devices in a catalog, which must not be nil. No device is in
// use: call Take for each allocation that exists.
func NewAllocator(features structured.Features, catalog *Catalog, celCache *cel.Cache) *Allocator {
	taken := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	return &Allocator{features: features, catalog: catalog, taken: taken, celCache: celCache}
}

// Changes returns a number that changes with every Take and PutBack. While it stays the same, earlier
// picks are valid.
func (a *Allocator) Changes() uint64 { return a.changes }

// Pick returns an allocation on a node for each claim. No claim may be allocated already. Accept may
// reject a result; Pick then tries other alternatives of firstAvailable requests, those of the last
// request first, each in its order of preference. Accept may be called several times.
//
// The result is nil if no combination of alternatives is both available and accepted. An error means
// that the claims cannot be allocated on this node whichever devices are free.
func (a *Allocator) Pick(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim,
	accept func([]resourceapi.AllocationResult) bool,
) ([]resourceapi.AllocationResult, error) {
	allocator, err := structured.NewAllocator(ctx, a.features, a.taken, classes{a.catalog}, a.catalog.slicesFor(node.Name), a.celCache)
	if err != nil {
		return nil, err
	}
	p := picking{ctx: ctx, allocator: allocator, node: node, accept: accept}
	return p.from(claims)
}

// picking is one search through the alternatives of claims.
type picking struct {
	ctx       context.Context
	allocator structured.Allocator
	node      *corev1.Node
	accept    func([]resourceapi.AllocationResult) bool
	picks     int
}

// from picks devices for claims. If the result is not accepted, it partitions the other combinations:
// those without the alternative chosen for the last request; those with that one but without the
// alternative chosen for the request before; and so on.
func (p *picking) from(claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	if p.picks++; p.picks > mostPicks {
		return nil, fmt.Errorf("the claims have more than %d combinations of alternatives: ask for fewer in one pod", mostPicks)
	}
	results, err := p.allocator.Allocate(p.ctx, p.node, claims)
	if err != nil || len(results) != len(claims) {
		return nil, err
	}
	if p.accept(results) {
		return results, nil
	}
	for c := len(claims) - 1; c >= 0; c-- {
		requests := claims[c].Spec.Devices.Requests
		for r := len(requests) - 1; r >= 0; r-- {
			chosen := chosenOf(&requests[r], &results[c])
			if chosen < 0 {
				continue
			}
			if len(requests[r].FirstAvailable) > 1 {
				others := slices.Delete(slices.Clone(requests[r].FirstAvailable), chosen, chosen+1)
				if found, err := p.from(with(claims, c, r, others)); err != nil || found != nil {
					return found, err
				}
			}
			claims = with(claims, c, r, requests[r].FirstAvailable[chosen:chosen+1])
			requests = claims[c].Spec.Devices.Requests
		}
	}
	return nil, nil
}

// chosenOf returns the index of the alternative that was picked for a request; -1 if the request has no
// alternatives.
func chosenOf(request *resourceapi.DeviceRequest, result *resourceapi.AllocationResult) int {
	for i := range result.Devices.Results {
		main, sub, _ := strings.Cut(result.Devices.Results[i].Request, "/")
		if main == request.Name {
			return slices.IndexFunc(request.FirstAvailable, func(s resourceapi.DeviceSubRequest) bool { return s.Name == sub })
		}
	}
	return -1
}

// with returns a copy of the claims in which one request has other alternatives. The copy shares all
// other parts.
func with(claims []*resourceapi.ResourceClaim, claim, request int, alternatives []resourceapi.DeviceSubRequest) []*resourceapi.ResourceClaim {
	changed := *claims[claim]
	changed.Spec.Devices.Requests = slices.Clone(changed.Spec.Devices.Requests)
	changed.Spec.Devices.Requests[request].FirstAvailable = alternatives
	claims = slices.Clone(claims)
	claims[claim] = &changed
	return claims
}

// Take marks the devices of an allocation as in use. Taking the same allocation again has no effect.
func (a *Allocator) Take(allocation *resourceapi.AllocationResult) {
	a.changes++
	a.each(allocation, func(id structured.DeviceID) { a.taken.AllocatedDevices.Insert(id) },
		func(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
			if !a.taken.AllocatedSharedDeviceIDs.Has(id) {
				a.insertShare(id, consumed)
			}
		})
}

func (a *Allocator) insertShare(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
	a.taken.AllocatedSharedDeviceIDs.Insert(id)
	a.taken.AggregatedCapacity.Insert(consumed)
}

func (a *Allocator) removeShare(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
	a.taken.AllocatedSharedDeviceIDs.Delete(id)
	a.taken.AggregatedCapacity.Remove(consumed)
}

// PutBack undoes Take.
func (a *Allocator) PutBack(allocation *resourceapi.AllocationResult) {
	a.changes++
	a.each(allocation, func(id structured.DeviceID) { a.taken.AllocatedDevices.Delete(id) }, a.removeShare)
}

// each calls whole or shared for every device of an allocation. Administrative access uses no device.
func (a *Allocator) each(allocation *resourceapi.AllocationResult, whole func(structured.DeviceID),
	shared func(structured.SharedDeviceID, structured.DeviceConsumedCapacity),
) {
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if a.features.ConsumableCapacity && result.ShareID != nil {
			shared(structured.MakeSharedDeviceID(id, result.ShareID), structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		} else {
			whole(id)
		}
	}
}

// classes adapts a catalog to structured.DeviceClassLister.
type classes struct{ *Catalog }

// List implements structured.DeviceClassLister.
func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	var all []*resourceapi.DeviceClass
	for _, class := range c.classes {
		all = append(all, class)
	}
	return all, nil
}

// Get implements structured.DeviceClassLister.
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	class, found := c.Class(name)
	if !found {
		return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
	}
	return class, nil
}
