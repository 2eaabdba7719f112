// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Allocated returns the usage of an allocation: each device, with the class of its request. A shared device (KEP-5075) has the
// capacity that the claim consumes. Any other device has all its capacity. Allocated leaves out devices for administrative
// access. The error names a result whose request is not in the spec.
func Allocated(spec *resourceapi.ResourceClaimSpec, allocation *resourceapi.AllocationResult, catalog *Catalog) (Usage, error) {
	var usage Usage
	for id, result := range Used(allocation) {
		class, found := classOf(spec.Devices.Requests, result.Request)
		if !found {
			return Usage{}, fmt.Errorf("device %s is allocated for request %s, which is not in its spec", id, result.Request)
		}
		devices := Devices{Class: class, Count: 1, Capacity: consumed(result), ID: id}
		devices.Published, _ = catalog.Device(id)
		if devices.Capacity == nil {
			if devices.Published == nil {
				usage.Gone = append(usage.Gone, id)
			}
			devices.Capacity = full(devices.Published)
		}
		usage.Devices = append(usage.Devices, devices)
	}
	return usage, nil
}

// Recall restores the data of devices that no slice lists anymore. before is the earlier usage of the same claim.
func (u *Usage) Recall(before *Usage) {
	for i := range min(len(u.Devices), len(before.Devices)) {
		d, last := &u.Devices[i], &before.Devices[i]
		if d.ID != (DeviceID{}) && d.Published == nil && d.ID == last.ID && !slices.Contains(before.Gone, d.ID) {
			u.Devices[i] = *last
			u.Gone = slices.DeleteFunc(u.Gone, func(id DeviceID) bool { return id == d.ID })
		}
	}
}

func idOf(result *resourceapi.DeviceRequestAllocationResult) DeviceID {
	return DeviceID{Driver: result.Driver, Pool: result.Pool, Device: result.Device}
}

// full returns all capacity of a device, or nil for a nil device.
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

// classOf returns the class of a request, given its name in an allocation result: request or, for firstAvailable, request/alternative.
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
