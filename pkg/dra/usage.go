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
	// Count is the number of devices. It may be as large as an int64, because users may write any number.
	Count int64
	// Capacity is the capacity that each device takes, by the names in ResourceSlices. It is nil if unknown.
	Capacity map[resourceapi.QualifiedName]resource.Quantity
	// ID identifies the device, if it is allocated. Published is the device in its ResourceSlice, or nil if no slice lists it.
	ID        DeviceID
	Published *resourceapi.Device
	// Extended is the extended resource that the devices are for. The pod that requests it is charged for this resource itself
	// (KEP-5004). It is empty for devices of claims, and for requests by the implicit name of a class.
	Extended corev1.ResourceName
}

// Usage is the devices that a claim requests or, once allocated, uses. It leaves out requests with adminAccess, because they
// are free of charge. A class may occur several times. Callers must add the counts with arithmetic that cannot overflow.
type Usage struct {
	Devices []Devices
	// Choices holds the alternatives of each firstAvailable request (KEP-4816), preferred first. The claim uses one alternative
	// of each choice in addition to Devices.
	Choices [][]Devices
	// Least says that the allocation may have more devices. A request for all devices of a class counts as one device until it
	// is allocated.
	Least bool
	// Gone lists allocated devices that are no longer in any ResourceSlice. Their capacity is unknown.
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

// Capacities returns the names of the capacities that the requested devices must have, sorted. It leaves out alternatives.
func (u *Usage) Capacities() []resourceapi.QualifiedName {
	names := map[resourceapi.QualifiedName]bool{}
	for _, d := range u.Devices {
		for name := range d.Capacity {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Requested returns the request of a claim before its allocation. It contains the capacity that the claim names. A device may
// round it up, see KEP-5075. The error names the request that cannot be counted.
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
