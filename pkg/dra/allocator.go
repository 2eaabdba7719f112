package dra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// mostPicks bounds how many combinations of alternatives are tried on one node. Two requests
// with eight alternatives each, the most that one may have, have 64.
const mostPicks = 100

// Allocator picks devices for claims, on one node at a time, by Kubernetes' own algorithm. Picks
// may be made from several goroutines, as long as nothing is taken or put back meanwhile.
type Allocator struct {
	features structured.Features
	catalog  *Catalog
	taken    structured.AllocatedState
	celCache *cel.Cache
	// changes counts how often devices were taken or put back.
	changes uint64
}

// NewAllocator returns an allocator of the devices in a catalog. Taken is what is in use at
// first; it belongs to the allocator from now on.
func NewAllocator(features structured.Features, catalog *Catalog, taken structured.AllocatedState, celCache *cel.Cache) *Allocator {
	return &Allocator{features: features, catalog: catalog, taken: taken, celCache: celCache}
}

// Changes is a number that stays the same as long as picks that were made can still be taken.
func (a *Allocator) Changes() uint64 { return a.changes }

// Pick returns for each claim, none of which may be allocated, an allocation on a node that
// accept, which may be called several times, returns true for. Where it does not, other
// alternatives of firstAvailable requests are tried, in the order of preference from the last
// request to the first. The result is nil when no combination can be had and is accepted; an
// error says why the claims cannot be allocated on this node whatever is free there.
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

// picking is a search through the alternatives of claims.
type picking struct {
	ctx       context.Context
	allocator structured.Allocator
	node      *corev1.Node
	accept    func([]resourceapi.AllocationResult) bool
	picks     int
}

// from picks for claims and, when that is not accepted, splits all other combinations: those
// that leave out what was chosen for the last request; those that keep that but leave out what
// was chosen for the one before; and so on.
func (p *picking) from(claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	if p.picks++; p.picks > mostPicks {
		return nil, fmt.Errorf("too many combinations of alternatives: ask for fewer in one pod")
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

// chosenOf is the index of the alternative that was picked for a request; -1 for a request
// without alternatives.
func chosenOf(request *resourceapi.DeviceRequest, result *resourceapi.AllocationResult) int {
	for i := range result.Devices.Results {
		main, sub, _ := strings.Cut(result.Devices.Results[i].Request, "/")
		if main == request.Name {
			return slices.IndexFunc(request.FirstAvailable, func(s resourceapi.DeviceSubRequest) bool { return s.Name == sub })
		}
	}
	return -1
}

// with returns the claims with other alternatives of one request. What is not replaced is
// shared.
func with(claims []*resourceapi.ResourceClaim, claim, request int, alternatives []resourceapi.DeviceSubRequest) []*resourceapi.ResourceClaim {
	changed := *claims[claim]
	changed.Spec.Devices.Requests = slices.Clone(changed.Spec.Devices.Requests)
	changed.Spec.Devices.Requests[request].FirstAvailable = alternatives
	claims = slices.Clone(claims)
	claims[claim] = &changed
	return claims
}

// Take takes the devices of an allocation, as far as they are not taken for it already.
func (a *Allocator) Take(allocation *resourceapi.AllocationResult) {
	a.changes++
	a.each(allocation, func(id structured.DeviceID) { a.taken.AllocatedDevices.Insert(id) },
		func(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
			if !a.taken.AllocatedSharedDeviceIDs.Has(id) {
				a.taken.AllocatedSharedDeviceIDs.Insert(id)
				a.taken.AggregatedCapacity.Insert(consumed)
			}
		})
}

// PutBack puts back the devices of an allocation that were taken.
func (a *Allocator) PutBack(allocation *resourceapi.AllocationResult) {
	a.changes++
	a.each(allocation, func(id structured.DeviceID) { a.taken.AllocatedDevices.Delete(id) },
		func(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
			a.taken.AllocatedSharedDeviceIDs.Delete(id)
			a.taken.AggregatedCapacity.Remove(consumed)
		})
}

// each goes through the devices of an allocation; access for administration takes none.
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

// classes is a catalog as Kubernetes' allocator reads it.
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
