// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// joined merges the slices of each pool whose devices consume counters of another slice. Since Kubernetes 1.35, all pools with
// partitions are like this. Kubernetes' algorithm of v1.34 looks for counters only in the device's own slice, and ignores counters
// that it does not find. It would hand out a whole GPU and its partitions as well.
func joined(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	split := map[PoolID]int64{}
	for _, slice := range all {
		if consumesElsewhere(slice) {
			id := poolOf(slice)
			split[id] = max(split[id], slice.Spec.Pool.Generation)
		}
	}
	if len(split) == 0 {
		return all
	}
	var others []*resourceapi.ResourceSlice
	pools := map[PoolID][]*resourceapi.ResourceSlice{}
	for _, slice := range all {
		id := poolOf(slice)
		if _, is := split[id]; !is {
			others = append(others, slice)
			continue
		}
		switch known := pools[id]; {
		case len(known) == 0 || slice.Spec.Pool.Generation > known[0].Spec.Pool.Generation:
			pools[id] = []*resourceapi.ResourceSlice{slice}
		case slice.Spec.Pool.Generation == known[0].Spec.Pool.Generation:
			pools[id] = append(known, slice)
		}
	}
	for _, pool := range pools {
		others = append(others, join(pool))
	}
	return others
}

// consumesElsewhere reports whether a device of a slice consumes counters that are missing in the slice.
func consumesElsewhere(slice *resourceapi.ResourceSlice) bool {
	return slices.ContainsFunc(slice.Spec.Devices, func(device resourceapi.Device) bool {
		return missingCounter(&device, slice.Spec.SharedCounters) != ""
	})
}

// missingCounter returns the name of a counter that a device consumes and that is missing in all sets, or an empty name.
func missingCounter(device *resourceapi.Device, sets []resourceapi.CounterSet) string {
	for _, consumed := range device.ConsumesCounters {
		at := slices.IndexFunc(sets, func(set resourceapi.CounterSet) bool { return set.Name == consumed.CounterSet })
		if at < 0 {
			return consumed.CounterSet
		}
		for name := range consumed.Counters {
			if _, has := sets[at].Counters[name]; !has {
				return consumed.CounterSet + "/" + name
			}
		}
	}
	return ""
}

// join merges all slices of a pool. If a slice or a counter is missing, the rest of the counters is unknown. Then the pool stays
// incomplete, without the devices that consume counters.
func join(pool []*resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	slices.SortFunc(pool, func(a, b *resourceapi.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
	one := *pool[0]
	one.Spec.Devices, one.Spec.SharedCounters = nil, nil
	together := !slices.ContainsFunc(pool, func(slice *resourceapi.ResourceSlice) bool { return !samePlace(&slice.Spec, &one.Spec) })
	if !together {
		one.Spec.NodeName, one.Spec.NodeSelector, one.Spec.AllNodes, one.Spec.PerDeviceNodeSelection = nil, nil, nil, ptr.To(true)
	}
	for _, slice := range pool {
		one.Spec.SharedCounters = append(one.Spec.SharedCounters, slice.Spec.SharedCounters...)
		for _, device := range slice.Spec.Devices {
			if !together && !ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
				device.NodeName, device.NodeSelector, device.AllNodes = slice.Spec.NodeName, slice.Spec.NodeSelector, slice.Spec.AllNodes
			}
			one.Spec.Devices = append(one.Spec.Devices, device)
		}
	}
	fault := counterFault(pool, &one.Spec)
	if fault == "" {
		one.Spec.Pool.ResourceSliceCount = 1
		return &one
	}
	klog.InfoS("The scheduler hands out no device of a pool that consumes shared counters", "driver", one.Spec.Driver, "pool", one.Spec.Pool.Name, "reason", fault)
	one.Spec.Pool.ResourceSliceCount = 2
	one.Spec.SharedCounters = nil
	one.Spec.Devices = slices.DeleteFunc(one.Spec.Devices, func(device resourceapi.Device) bool { return len(device.ConsumesCounters) > 0 })
	return &one
}

// counterFault says why the counters of a joined pool cannot be used. It is empty if they can be used.
func counterFault(pool []*resourceapi.ResourceSlice, spec *resourceapi.ResourceSliceSpec) string {
	if want := spec.Pool.ResourceSliceCount; int64(len(pool)) != want {
		return fmt.Sprintf("the pool has %d ResourceSlices of the latest generation, and needs %d", len(pool), want)
	}
	for i := range spec.SharedCounters {
		name := spec.SharedCounters[i].Name
		if slices.ContainsFunc(spec.SharedCounters[:i], func(set resourceapi.CounterSet) bool { return set.Name == name }) {
			return fmt.Sprintf("two ResourceSlices of the pool have the counter set %s", name)
		}
	}
	for i := range spec.Devices {
		if missing := missingCounter(&spec.Devices[i], spec.SharedCounters); missing != "" {
			return fmt.Sprintf("device %s consumes %s, which no ResourceSlice of the pool has", spec.Devices[i].Name, missing)
		}
	}
	return ""
}

// samePlace reports whether the same nodes reach the devices of two slices, apart from the selection per device.
func samePlace(a, b *resourceapi.ResourceSliceSpec) bool {
	return ptr.Equal(a.NodeName, b.NodeName) && ptr.Equal(a.AllNodes, b.AllNodes) && ptr.Equal(a.PerDeviceNodeSelection, b.PerDeviceNodeSelection) &&
		a.NodeSelector == nil && b.NodeSelector == nil
}
