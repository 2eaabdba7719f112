package dra

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Devices is a number of devices of one class.
type Devices struct {
	Class string
	// Count may be as large as an int64 holds: it is what a user wrote.
	Count int64
	// Capacity is what each of them takes in the capacity dimensions of the class; nil for
	// nothing that is known.
	Capacity map[resourceapi.QualifiedName]resource.Quantity
}

// Usage is what a claim asks for or holds. Requests with adminAccess are free of charge
// and do not appear. The same class may occur several times: the numbers add up, which is
// left to arithmetic that cannot overflow.
type Usage struct {
	Devices []Devices
	// Choices has the alternatives of each firstAvailable request (KEP-4816), in order: one of
	// each is used besides Devices.
	Choices [][]Devices
	// Least says that the numbers are the least that can come out: a request for all devices of
	// a class counts as one before it is allocated.
	Least bool
	// Gone lists allocated devices that no ResourceSlice has any more, so that nothing is known
	// of their capacity.
	Gone []DeviceID
}

// Classes calls yield for every class that occurs.
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

// Capacities returns the names of the capacities that devices must have, sorted. Those that only
// an alternative asks for are left out.
func (u *Usage) Capacities() []resourceapi.QualifiedName {
	names := map[resourceapi.QualifiedName]bool{}
	for _, d := range u.Devices {
		for name := range d.Capacity {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Requested returns what a claim asks for before it is allocated. Of capacity it has what the
// claim names; the devices may have to give more, see KEP-5075. An error says what cannot be
// counted.
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
		devices, err := u.ofClass(exactly.DeviceClassName, exactly.AllocationMode, exactly.Count, exactly.Capacity)
		u.Devices = append(u.Devices, devices)
		return err
	case len(request.FirstAvailable) == 0:
		return errors.New("it has neither exactly nor firstAvailable: it may come from an API that is newer than this scheduler; use one of the two, or update the scheduler")
	}
	var alternatives []Devices
	for _, alternative := range request.FirstAvailable {
		devices, err := u.ofClass(alternative.DeviceClassName, alternative.AllocationMode, alternative.Count, alternative.Capacity)
		if err != nil {
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
