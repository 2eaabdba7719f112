// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// withoutShared returns the slices with the counters that shared devices leave, and with shared devices that consume no counters. Kubernetes'
// algorithm of v1.34 subtracts counters only for devices that are in use as a whole. It would hand out a GPU while users share one of its
// partitions. It would also subtract the counters of a partition again for each further share.
func (a *Allocator) withoutShared(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	if !a.features.PartitionableDevices || len(a.shares) == 0 {
		return all
	}
	left := all
	for i, slice := range all {
		if changed := a.leaving(slice); changed != slice {
			if &left[0] == &all[0] {
				left = slices.Clone(all)
			}
			left[i] = changed
		}
	}
	return left
}

// leaving is withoutShared for one slice.
func (a *Allocator) leaving(slice *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	var changed *resourceapi.ResourceSlice
	var left remaining
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		if len(device.ConsumesCounters) == 0 || a.shares[structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)] == 0 {
			continue
		}
		if changed == nil {
			copied := *slice
			copied.Spec.Devices = slices.Clone(slice.Spec.Devices)
			changed, left = &copied, countersOf(slice)
		}
		left.consume(device)
		changed.Spec.Devices[i].ConsumesCounters = nil
	}
	if changed == nil {
		return slice
	}
	changed.Spec.SharedCounters = nil
	for name, counters := range left {
		set := resourceapi.CounterSet{Name: name, Counters: map[string]resourceapi.Counter{}}
		for counter, value := range counters {
			set.Counters[counter] = resourceapi.Counter{Value: value}
		}
		changed.Spec.SharedCounters = append(changed.Spec.SharedCounters, set)
	}
	return changed
}
