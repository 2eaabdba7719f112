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
	s := supposition{allocator: a}
	for _, allocation := range free {
		a.each(allocation, s.freeWhole, s.freeShare)
	}
	for _, allocation := range taken {
		a.each(allocation, s.takeWhole, s.takeShare)
	}
	a.changes++
	return func() {
		for _, step := range slices.Backward(s.undo) {
			step()
		}
		a.changes++
	}
}

// supposition records the functions that undo each change.
type supposition struct {
	allocator *Allocator
	undo      []func()
}

func (s *supposition) freeWhole(id structured.DeviceID) {
	devices := s.allocator.taken.AllocatedDevices
	if devices.Has(id) {
		devices.Delete(id)
		s.undo = append(s.undo, func() { devices.Insert(id) })
	}
}

func (s *supposition) takeWhole(id structured.DeviceID) {
	devices := s.allocator.taken.AllocatedDevices
	if !devices.Has(id) {
		devices.Insert(id)
		s.undo = append(s.undo, func() { devices.Delete(id) })
	}
}

func (s *supposition) freeShare(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
	if s.allocator.taken.AllocatedSharedDeviceIDs.Has(id) {
		s.allocator.removeShare(id, consumed)
		s.undo = append(s.undo, func() { s.allocator.insertShare(id, consumed) })
	}
}

func (s *supposition) takeShare(id structured.SharedDeviceID, consumed structured.DeviceConsumedCapacity) {
	if !s.allocator.taken.AllocatedSharedDeviceIDs.Has(id) {
		s.allocator.insertShare(id, consumed)
		s.undo = append(s.undo, func() { s.allocator.removeShare(id, consumed) })
	}
}
