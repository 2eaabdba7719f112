// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// countedFrom is the number of devices from which those that match are counted before a search. If one of n devices is
// missing, Kubernetes' algorithm takes the others in every order, which are n! ways: for eight devices, more than can be
// afforded.
const countedFrom = 4

// short reports whether too few devices are free for claims, whichever are picked. It may miss that. It leaves to
// Kubernetes' algorithm all claims and devices for which that may return an error.
func (a *Allocator) short(ctx context.Context, slices []*resourceapi.ResourceSlice, claims []*resourceapi.ResourceClaim) bool {
	requests, total := a.countable(claims)
	if total == 0 {
		return false
	}
	free, known := a.free(slices)
	switch {
	case !known:
		return false
	case len(free) == 0:
		return true
	case total < countedFrom:
		return false
	}
	useful := map[*resourceapi.Device]bool{}
	for _, request := range requests {
		matching := int64(0)
		for _, device := range free {
			matches, err := a.matches(ctx, device, request)
			if err != nil || matches && ptr.Deref(device.AllowMultipleAllocations, false) {
				return false
			}
			if matches {
				matching++
				useful[device.Device] = true
			}
		}
		if matching < request.Count {
			return true
		}
	}
	return int64(len(useful)) < total
}

// countable returns all requests of claims, and how many devices they ask for, which is 0 if that is not certain.
func (a *Allocator) countable(claims []*resourceapi.ResourceClaim) (requests []*resourceapi.ExactDeviceRequest, total int64) {
	for _, claim := range claims {
		ofClaim := int64(0)
		for i := range claim.Spec.Devices.Requests {
			request := claim.Spec.Devices.Requests[i].Exactly
			if request == nil || request.AllocationMode != resourceapi.DeviceAllocationModeExactCount || ptr.Deref(request.AdminAccess, false) {
				return nil, 0
			}
			if _, found := a.catalog.Class(request.DeviceClassName); !found {
				return nil, 0
			}
			requests, ofClaim = append(requests, request), ofClaim+request.Count
		}
		for i := range claim.Spec.Devices.Constraints {
			if claim.Spec.Devices.Constraints[i].MatchAttribute == nil {
				return nil, 0
			}
		}
		if ofClaim > resourceapi.AllocationResultsMaxSize {
			return nil, 0
		}
		total += ofClaim
	}
	return requests, total
}

// unused is a device that is not in use.
type unused struct {
	*resourceapi.Device
	driver string
}

// free returns the devices that are not in use. It returns false if it is not certain that these are the devices that Kubernetes' algorithm
// looks at.
func (a *Allocator) free(slices []*resourceapi.ResourceSlice) ([]unused, bool) {
	var free []unused
	for _, slice := range slices {
		if slice.Spec.NodeSelector != nil {
			return nil, false
		}
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			id := DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, device.Name}
			if published, _ := a.catalog.Device(id); published != device || device.NodeSelector != nil {
				return nil, false
			}
			if !a.taken.AllocatedDevices.Has(structured.MakeDeviceID(id.Driver, id.Pool, id.Device)) {
				free = append(free, unused{device, id.Driver})
			}
		}
	}
	return free, true
}

// matches reports whether a device matches a request and its class.
func (a *Allocator) matches(ctx context.Context, device unused, request *resourceapi.ExactDeviceRequest) (bool, error) {
	matches, err := a.ofClass(ctx, device, request.DeviceClassName)
	if err != nil || !matches {
		return false, err
	}
	return a.selects(ctx, device, request.Selectors)
}

// membership is a question that a catalog answers once: whether a device matches a class.
type membership struct {
	device *resourceapi.Device
	class  string
}

func (a *Allocator) ofClass(ctx context.Context, device unused, name string) (bool, error) {
	key := membership{device.Device, name}
	if known, found := a.catalog.members.Load(key); found {
		return known.(bool), nil
	}
	class, _ := a.catalog.Class(name)
	matches, err := a.selects(ctx, device, class.Spec.Selectors)
	if err == nil {
		a.catalog.members.Store(key, matches)
	}
	return matches, err
}

func (a *Allocator) selects(ctx context.Context, device unused, selectors []resourceapi.DeviceSelector) (bool, error) {
	described := cel.Device{Driver: device.driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}
	for _, expression := range expressionsOf(selectors) {
		compiled := a.celCache.GetOrCompile(expression)
		if compiled.Error != nil {
			return false, compiled.Error
		}
		if matches, _, err := compiled.DeviceMatches(ctx, described); err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}
