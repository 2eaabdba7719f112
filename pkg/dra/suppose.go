// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Suppose changes the devices in use. It first frees the devices of the allocations in free, and then takes the devices of the
// allocations in taken. Unlike Take and PutBack, it accepts devices that other allocations also have. The returned function
// undoes exactly the changes made. In between, callers must not take or put back a changed device.
func (a *Allocator) Suppose(free, taken []*resourceapi.AllocationResult) (undo func()) {
	devices, shares := a.taken.AllocatedDevices, a.taken.AllocatedSharedDeviceIDs
	var steps []func()
	change := func(do, undo func()) {
		do()
		steps = append(steps, undo)
	}
	for _, allocation := range free {
		a.each(allocation, func(id structured.DeviceID) {
			if devices.Has(id) {
				change(func() { devices.Delete(id) }, func() { devices.Insert(id) })
			}
		}, func(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
			if shares.Has(id) {
				change(func() { a.removeShare(id, consumed) }, func() { a.insertShare(id, consumed) })
			}
		})
	}
	for _, allocation := range taken {
		a.each(allocation, func(id structured.DeviceID) {
			if !devices.Has(id) {
				change(func() { devices.Insert(id) }, func() { devices.Delete(id) })
			}
		}, func(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
			if !shares.Has(id) {
				change(func() { a.insertShare(id, consumed) }, func() { a.removeShare(id, consumed) })
			}
		})
	}
	a.supposed++
	return func() {
		for _, step := range slices.Backward(steps) {
			step()
		}
		a.supposed++
	}
}
