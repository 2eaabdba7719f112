// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// solver is Kubernetes' algorithm for the devices of some slices.
type solver struct {
	structured.Allocator
	allocator *Allocator
	slices    []*resourceapi.ResourceSlice
}

// open returns the algorithm for the devices of these slices.
func (a *Allocator) open(ctx context.Context, all []*resourceapi.ResourceSlice) (*solver, error) {
	algorithm, err := structured.NewAllocator(ctx, a.features, a.taken, classes{a.catalog}, a.withoutShared(all), a.celCache)
	if err != nil {
		return nil, err
	}
	return &solver{algorithm, a, all}, nil
}

// errPanic says that the algorithm has panicked. In v0.34.10 with consumable capacity, it looks up a device of a slice by the device's place
// among those of the request, so that it panics if a request gets its last device from a slice with fewer devices than it asks for.
var errPanic = errors.New("the allocator of Kubernetes cannot allocate devices")

// filled returns the algorithm with slices that have as many devices as a claim may get, so that it does not panic. The devices that it adds are
// in use, so that a request for all devices would not get them.
func (s *solver) filled(ctx context.Context) (*solver, error) {
	allocator, all := *s.allocator, slices.Clone(s.slices)
	allocator.taken.AllocatedDevices = s.allocator.taken.AllocatedDevices.Clone()
	for i, slice := range all {
		if len(slice.Spec.Devices) == 0 {
			continue
		}
		filled := *slice
		filled.Spec.Devices = slices.Clone(slice.Spec.Devices)
		for n := len(filled.Spec.Devices); n < resourceapi.AllocationResultsMaxSize; n++ {
			added := filled.Spec.Devices[0]
			added.Name = fmt.Sprint("/", n) // no driver can name a device like this
			added.AllowMultipleAllocations, added.ConsumesCounters = nil, nil
			filled.Spec.Devices = append(filled.Spec.Devices, added)
			allocator.taken.AllocatedDevices.Insert(structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, added.Name))
		}
		all[i] = &filled
	}
	return allocator.open(ctx, all)
}

// asksForAll reports whether a claim asks for all devices that match.
func asksForAll(claim *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(request resourceapi.DeviceRequest) bool {
		return request.Exactly != nil && request.Exactly.AllocationMode == resourceapi.DeviceAllocationModeAll ||
			slices.ContainsFunc(request.FirstAvailable, func(one resourceapi.DeviceSubRequest) bool {
				return one.AllocationMode == resourceapi.DeviceAllocationModeAll
			})
	})
}
