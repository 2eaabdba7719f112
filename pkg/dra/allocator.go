// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"hash/fnv"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Allocator picks devices for claims, one node at a time, with Kubernetes' structured allocator. Several goroutines may call
// Pick concurrently, but not during Take or PutBack.
type Allocator struct {
	features structured.Features
	catalog  *Catalog
	taken    structured.AllocatedState
	celCache *cel.Cache
	// shares counts the allocations that share a device.
	shares map[structured.DeviceID]int
	// changes counts the calls of Take and PutBack by pool. supposed counts the changes by Suppose.
	changes  map[PoolID]uint64
	supposed uint64
	// spared holds the devices to pick only if there are no others.
	spared map[DeviceID]bool
}

// NewAllocator returns an allocator for the devices in a catalog, which must not be nil. No device is in use yet. Call Take for
// each existing allocation.
func NewAllocator(features structured.Features, catalog *Catalog, celCache *cel.Cache) *Allocator {
	taken := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	return &Allocator{features: features, catalog: catalog, taken: taken, celCache: celCache, shares: map[structured.DeviceID]int{}, changes: map[PoolID]uint64{}}
}

// ChangesOn returns a number that changes with every Take and PutBack of a device that a node may reach. While it stays the same, earlier picks on the node are
// valid.
func (a *Allocator) ChangesOn(node string) uint64 {
	sum := a.supposed
	a.catalog.PoolsFor(node, func(pool PoolID) { sum += a.changes[pool] })
	return sum
}

func (a *Allocator) change(allocation *resourceapi.AllocationResult) {
	for i := range allocation.Devices.Results {
		a.changes[PoolID{allocation.Devices.Results[i].Driver, allocation.Devices.Results[i].Pool}]++
	}
}

// InUse returns a hash of the devices and shares in use.
func (a *Allocator) InUse() uint64 {
	var sum uint64
	add := func(id string) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(id)) // a hash returns no errors
		sum += h.Sum64()
	}
	for id := range a.taken.AllocatedDevices {
		add(id.String())
	}
	for id := range a.taken.AllocatedSharedDeviceIDs {
		add(id.String())
	}
	return sum
}

// Take marks the devices of an allocation as in use. Repeated calls with the same allocation have no effect.
func (a *Allocator) Take(allocation *resourceapi.AllocationResult) {
	a.change(allocation)
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
	a.shares[consumed.DeviceID]++
}

func (a *Allocator) removeShare(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
	if a.taken.AllocatedSharedDeviceIDs.Has(id) {
		if a.shares[consumed.DeviceID]--; a.shares[consumed.DeviceID] == 0 {
			delete(a.shares, consumed.DeviceID)
		}
	}
	a.taken.AllocatedSharedDeviceIDs.Delete(id)
	a.taken.AggregatedCapacity.Remove(consumed)
}

// PutBack undoes Take.
func (a *Allocator) PutBack(allocation *resourceapi.AllocationResult) {
	a.change(allocation)
	a.each(allocation, func(id structured.DeviceID) { a.taken.AllocatedDevices.Delete(id) }, a.removeShare)
}

// each calls whole or shared for every device that an allocation uses.
func (a *Allocator) each(allocation *resourceapi.AllocationResult, whole func(structured.DeviceID),
	shared func(structured.SharedDeviceID, structured.DeviceConsumedCapacity),
) {
	for _, result := range Used(allocation) {
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if a.features.ConsumableCapacity && result.ShareID != nil {
			shared(structured.MakeSharedDeviceID(id, result.ShareID), structured.NewDeviceConsumedCapacity(id, consumed(result)))
		} else {
			whole(id)
		}
	}
}

// classes adapts a catalog to structured.DeviceClassLister.
type classes struct{ *Catalog }

// List implements structured.DeviceClassLister.
func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return slices.Collect(maps.Values(c.classes)), nil
}

// Get implements structured.DeviceClassLister.
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	class, found := c.Class(name)
	if !found {
		return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
	}
	return class, nil
}

// Spare makes Pick avoid these devices if possible. Call it before Pick.
func (a *Allocator) Spare(devices map[DeviceID]bool) { a.spared = devices }

// Spares reports whether there are devices to avoid.
func (a *Allocator) Spares() bool { return len(a.spared) > 0 }

// HasSpared reports whether a result contains an avoided device, because there was no other.
func (a *Allocator) HasSpared(result *resourceapi.AllocationResult) bool {
	return slices.ContainsFunc(result.Devices.Results, func(r resourceapi.DeviceRequestAllocationResult) bool { return a.spared[idOf(&r)] })
}

// sparing returns an allocator that treats the devices to avoid as in use. It is nil if none of them is free in these slices.
func (a *Allocator) sparing(slices []*resourceapi.ResourceSlice) *Allocator {
	if len(a.spared) == 0 {
		return nil
	}
	var sparing *Allocator
	for _, slice := range slices {
		for i := range slice.Spec.Devices {
			id := DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name}
			device := structured.MakeDeviceID(id.Driver, id.Pool, id.Device)
			if !a.spared[id] || a.taken.AllocatedDevices.Has(device) {
				continue
			}
			if sparing == nil {
				copied := *a
				copied.taken.AllocatedDevices = a.taken.AllocatedDevices.Clone()
				sparing = &copied
			}
			sparing.taken.AllocatedDevices.Insert(device)
		}
	}
	return sparing
}
