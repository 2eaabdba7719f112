// SPDX-License-Identifier: Apache-2.0

package dra

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Spare makes Pick avoid these devices if possible. Call it before Pick.
func (a *Allocator) Spare(devices map[DeviceID]bool) { a.spared = devices }

// Spares reports whether there are devices to avoid.
func (a *Allocator) Spares() bool { return len(a.spared) > 0 }

// HasSpared reports whether a result contains an avoided device, because there was no other.
func (a *Allocator) HasSpared(result *resourceapi.AllocationResult) bool {
	for i := range result.Devices.Results {
		if a.spared[idOf(&result.Devices.Results[i])] {
			return true
		}
	}
	return false
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
