package dra

import (
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

// Devices is a number of devices of one class.
type Devices struct {
	Class string
	// Count may be as large as an int64 holds: it is what a user wrote.
	Count int64
}

// Usage is what one claim asks for or holds. Requests with adminAccess are free of charge
// and do not appear. The same class may occur several times: the numbers add up, which is
// left to arithmetic that cannot overflow.
type Usage struct {
	Devices []Devices
	// Open lists the classes of requests whose number is not known before they are
	// allocated: those with allocation mode All.
	Open []string
}

// Of returns what the claim holds when it is allocated, and what it asks for until then.
// An error names the claim and says what in it cannot be counted.
func Of(claim *resourceapi.ResourceClaim) (Usage, error) {
	count := requested
	if claim.Status.Allocation != nil {
		count = allocated
	}
	usage, err := count(claim)
	if err != nil {
		return Usage{}, fmt.Errorf("ResourceClaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return usage, nil
}

func requested(claim *resourceapi.ResourceClaim) (Usage, error) {
	var usage Usage
	for _, request := range claim.Spec.Devices.Requests {
		asked, err := ofRequest(request)
		if err != nil {
			return Usage{}, fmt.Errorf("request %s: %w", request.Name, err)
		}
		usage.Devices = append(usage.Devices, asked.Devices...)
		usage.Open = append(usage.Open, asked.Open...)
	}
	return usage, nil
}

func ofRequest(request resourceapi.DeviceRequest) (Usage, error) {
	switch exactly := request.Exactly; {
	case exactly != nil && exactly.AdminAccess != nil && *exactly.AdminAccess:
		return Usage{}, nil
	case exactly != nil:
		return ofClass(exactly.DeviceClassName, exactly.AllocationMode, exactly.Count)
	case len(request.FirstAvailable) > 0:
		return ofAlternatives(request.FirstAvailable)
	default:
		return Usage{}, errors.New("it has neither exactly nor firstAvailable; is this scheduler older than the cluster's API?")
	}
}

func ofClass(class string, mode resourceapi.DeviceAllocationMode, count int64) (Usage, error) {
	switch {
	case mode == resourceapi.DeviceAllocationModeAll:
		return Usage{Open: []string{class}}, nil
	case mode != resourceapi.DeviceAllocationModeExactCount:
		return Usage{}, fmt.Errorf("its allocation mode %q is not known to this scheduler", mode)
	case count <= 0:
		return Usage{}, fmt.Errorf("its count %d is not positive", count)
	default:
		return Usage{Devices: []Devices{{Class: class, Count: count}}}, nil
	}
}

// ofAlternatives counts each class of a firstAvailable request (KEP-4816) with its largest
// number, because any one of the alternatives may be picked.
func ofAlternatives(alternatives []resourceapi.DeviceSubRequest) (Usage, error) {
	var usage Usage
	largest := map[string]int{}
	for _, alternative := range alternatives {
		asked, err := ofClass(alternative.DeviceClassName, alternative.AllocationMode, alternative.Count)
		if err != nil {
			return Usage{}, fmt.Errorf("alternative %s: %w", alternative.Name, err)
		}
		usage.Open = append(usage.Open, asked.Open...)
		for _, d := range asked.Devices {
			if i, known := largest[d.Class]; known {
				usage.Devices[i].Count = max(usage.Devices[i].Count, d.Count)
				continue
			}
			largest[d.Class] = len(usage.Devices)
			usage.Devices = append(usage.Devices, d)
		}
	}
	return usage, nil
}
