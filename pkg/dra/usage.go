// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Devices is a number of devices of one class.
type Devices struct {
	Class string
	// Count is the number of devices, up to the largest int64: users may write any number.
	Count int64
	// Capacity is the capacity that each device takes, by the names in ResourceSlices; nil if it is not
	// known.
	Capacity map[resourceapi.QualifiedName]resource.Quantity
	// ID is the device, if one is allocated. Published is how its ResourceSlice describes it. It is nil if no slice does.
	ID        DeviceID
	Published *resourceapi.Device
	// Extended is the extended resource that the devices are for, and that the pod which requests it is charged as such (KEP-5004). It is
	// empty for devices of claims, and for those that are requested by the implicit name of their class.
	Extended corev1.ResourceName
}

// Usage is what a claim requests or, once it is allocated, uses. Requests with adminAccess are left out:
// they are free of charge. The same class may occur several times; the caller adds up the counts with
// arithmetic that cannot overflow.
type Usage struct {
	Devices []Devices
	// Choices has the alternatives of each firstAvailable request (KEP-4816), in order of preference. One
	// alternative of each is used in addition to Devices.
	Choices [][]Devices
	// Least says that the allocation may have more devices: a request for all devices of a class counts
	// as one until it is allocated.
	Least bool
	// Gone lists allocated devices that are no longer in any ResourceSlice. Their capacity is not known.
	Gone []DeviceID
}

// Classes calls yield for every class, alternatives included. A class may occur several times.
func (u *Usage) Classes(yield func(string) bool) {
	for _, d := range u.Devices {
		if !yield(d.Class) {
			return
		}
	}
	for _, alternatives := range u.Choices {
		for _, d := range alternatives {
			if !yield(d.Class) {
				return
			}
		}
	}
}

// NamesCapacity reports whether any devices have a capacity, alternatives included.
func (u *Usage) NamesCapacity() bool {
	names := func(d Devices) bool { return len(d.Capacity) > 0 }
	return slices.ContainsFunc(u.Devices, names) ||
		slices.ContainsFunc(u.Choices, func(alternatives []Devices) bool { return slices.ContainsFunc(alternatives, names) })
}

// Capacities returns the names of the capacities that the requested devices must have, sorted. Those of
// alternatives are left out.
func (u *Usage) Capacities() []resourceapi.QualifiedName {
	names := map[resourceapi.QualifiedName]bool{}
	for _, d := range u.Devices {
		for name := range d.Capacity {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Requested returns what a claim requests before it is allocated. It has the capacity that the claim
// names; a device may round it up, see KEP-5075. The error names the request that cannot be counted.
func Requested(spec *resourceapi.ResourceClaimSpec) (Usage, error) {
	var usage Usage
	for i := range spec.Devices.Requests {
		if err := usage.add(&spec.Devices.Requests[i]); err != nil {
			return Usage{}, fmt.Errorf("request %s: %w", spec.Devices.Requests[i].Name, err)
		}
	}
	return usage, nil
}

func (u *Usage) add(request *resourceapi.DeviceRequest) error {
	switch exactly := request.Exactly; {
	case exactly != nil && exactly.AdminAccess != nil && *exactly.AdminAccess:
		return nil
	case exactly != nil:
		if err := checkSelectors(exactly.Selectors); err != nil {
			return err
		}
		devices, err := u.ofClass(exactly.DeviceClassName, exactly.AllocationMode, exactly.Count, exactly.Capacity)
		u.Devices = append(u.Devices, devices)
		return err
	case len(request.FirstAvailable) == 0:
		return errors.New("it has neither exactly nor firstAvailable: it may come from an API that is newer than this scheduler; use one of the two, or update the scheduler")
	}
	var alternatives []Devices
	for _, alternative := range request.FirstAvailable {
		devices, err := u.ofClass(alternative.DeviceClassName, alternative.AllocationMode, alternative.Count, alternative.Capacity)
		if err = cmp.Or(err, checkSelectors(alternative.Selectors)); err != nil {
			return fmt.Errorf("alternative %s: %w", alternative.Name, err)
		}
		alternatives = append(alternatives, devices)
	}
	u.Choices = append(u.Choices, alternatives)
	return nil
}

func (u *Usage) ofClass(class string, mode resourceapi.DeviceAllocationMode, count int64, capacity *resourceapi.CapacityRequirements) (Devices, error) {
	devices := Devices{Class: class, Count: count}
	if capacity != nil {
		if err := checkCapacity(capacity.Requests); err != nil {
			return Devices{}, err
		}
		devices.Capacity = capacity.Requests
	}
	switch {
	case mode == resourceapi.DeviceAllocationModeAll:
		u.Least, devices.Count = true, 1
	case mode != resourceapi.DeviceAllocationModeExactCount:
		return Devices{}, fmt.Errorf("its allocation mode %q is not known to this scheduler: use ExactCount or All, or update the scheduler", mode)
	case count <= 0:
		return Devices{}, fmt.Errorf("its count %d is not positive", count)
	}
	return devices, nil
}
