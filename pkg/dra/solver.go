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

// open returns a solver for the devices of these slices.
func (a *Allocator) open(ctx context.Context, all []*resourceapi.ResourceSlice) (*solver, error) {
	algorithm, err := structured.NewAllocator(ctx, a.features, a.taken, classes{a.catalog}, a.withoutShared(all), a.celCache)
	if err != nil {
		return nil, err
	}
	return &solver{algorithm, a, all}, nil
}

// errPanic says that the algorithm has panicked. With consumable capacity, v0.34.10 looks up a device of a slice by its position among the
// devices of the request. It panics if a request gets its last device from a slice with fewer devices than the request has.
var errPanic = errors.New("the allocator of Kubernetes cannot allocate devices")

// filled returns a solver that does not panic. Its slices have as many devices as a claim may get. The added devices are in use, so a request
// for all devices would not get them.
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
			added.Name = fmt.Sprint("/", n) // no driver can use this name
			added.AllowMultipleAllocations, added.ConsumesCounters = nil, nil
			filled.Spec.Devices = append(filled.Spec.Devices, added)
			allocator.taken.AllocatedDevices.Insert(structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, added.Name))
		}
		all[i] = &filled
	}
	return allocator.open(ctx, all)
}

func asksForAll(claim *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(request resourceapi.DeviceRequest) bool {
		return request.Exactly != nil && request.Exactly.AllocationMode == resourceapi.DeviceAllocationModeAll ||
			slices.ContainsFunc(request.FirstAvailable, func(one resourceapi.DeviceSubRequest) bool {
				return one.AllocationMode == resourceapi.DeviceAllocationModeAll
			})
	})
}
