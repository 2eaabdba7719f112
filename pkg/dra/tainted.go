// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
)

// withoutTainted returns the slices without free partitions whose taints no request tolerates. Kubernetes' algorithm of v1.34 takes the counters of a
// device before it looks at its taints, and does not give them back. It then does not find partitions that are free.
func (a *Allocator) withoutTainted(all []*resourceapi.ResourceSlice, claims []*resourceapi.ResourceClaim) []*resourceapi.ResourceSlice {
	if !a.features.DeviceTaints || !a.features.PartitionableDevices || !a.catalog.partitioned {
		return all
	}
	left := all
	for i, slice := range all {
		unusable := func(device resourceapi.Device) bool {
			id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
			return len(device.ConsumesCounters) > 0 && !a.taken.AllocatedDevices.Has(id) && a.shares[id] == 0 && !tolerated(device.Taints, claims)
		}
		if !slices.ContainsFunc(slice.Spec.Devices, unusable) {
			continue
		}
		if &left[0] == &all[0] {
			left = slices.Clone(all)
		}
		changed := *slice
		changed.Spec.Devices = slices.DeleteFunc(slices.Clone(slice.Spec.Devices), unusable)
		left[i] = &changed
	}
	return left
}

// tolerated reports whether some request tolerates all taints.
func tolerated(taints []resourceapi.DeviceTaint, claims []*resourceapi.ResourceClaim) bool {
	by := func(tolerations []resourceapi.DeviceToleration) bool {
		return !slices.ContainsFunc(taints, func(taint resourceapi.DeviceTaint) bool {
			return !slices.ContainsFunc(tolerations, func(t resourceapi.DeviceToleration) bool { return resourceclaim.ToleratesTaint(t, taint) })
		})
	}
	if len(taints) == 0 {
		return true
	}
	return slices.ContainsFunc(claims, func(claim *resourceapi.ResourceClaim) bool {
		return slices.ContainsFunc(claim.Spec.Devices.Requests, func(request resourceapi.DeviceRequest) bool {
			return request.Exactly != nil && by(request.Exactly.Tolerations) ||
				slices.ContainsFunc(request.FirstAvailable, func(sub resourceapi.DeviceSubRequest) bool { return by(sub.Tolerations) })
		})
	})
}
