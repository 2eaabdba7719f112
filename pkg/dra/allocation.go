package dra

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Allocated returns what an allocation that was made for a claim's spec holds: each device by
// the class of the request that it came from, with what is consumed of it where it is shared
// (KEP-5075) and with all its capacity where it is not.
func Allocated(spec *resourceapi.ResourceClaimSpec, allocation *resourceapi.AllocationResult, catalog *Catalog) (Usage, error) {
	var usage Usage
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		class, found := classOf(spec.Devices.Requests, result.Request)
		if !found {
			return Usage{}, fmt.Errorf("device %s is allocated for request %s, which is not in its spec", idOf(result), result.Request)
		}
		devices := Devices{Class: class, Count: 1, Capacity: result.ConsumedCapacity}
		if devices.Capacity == nil {
			device, known := catalog.Device(idOf(result))
			if !known {
				usage.Gone = append(usage.Gone, idOf(result))
			}
			devices.Capacity = full(device)
		}
		usage.Devices = append(usage.Devices, devices)
	}
	return usage, nil
}

func idOf(result *resourceapi.DeviceRequestAllocationResult) DeviceID {
	return DeviceID{Driver: result.Driver, Pool: result.Pool, Device: result.Device}
}

// full is all the capacity that a device has; nothing for nil.
func full(device *resourceapi.Device) map[resourceapi.QualifiedName]resource.Quantity {
	if device == nil {
		return nil
	}
	capacity := make(map[resourceapi.QualifiedName]resource.Quantity, len(device.Capacity))
	for name, c := range device.Capacity {
		capacity[name] = c.Value
	}
	return capacity
}

// classOf finds the class of a request by the name that an allocation result uses: the
// request's own, or request/alternative for firstAvailable.
func classOf(requests []resourceapi.DeviceRequest, name string) (string, bool) {
	main, sub, _ := strings.Cut(name, "/")
	for _, request := range requests {
		if request.Name != main {
			continue
		}
		if request.Exactly != nil {
			return request.Exactly.DeviceClassName, true
		}
		for _, alternative := range request.FirstAvailable {
			if alternative.Name == sub {
				return alternative.DeviceClassName, true
			}
		}
	}
	return "", false
}
