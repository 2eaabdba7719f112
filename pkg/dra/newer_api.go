// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
)

// understood returns a slice without newer features that this version of Kubernetes' algorithm handles wrongly. It returns the slice itself
// if there are none.
//   - An attribute whose value has an unknown type, such as a list. With it, no selector can be evaluated for the device. Without it, only
//     selectors that need the attribute fail.
//   - A taint with an effect other than NoSchedule and NoExecute. The API requires that unknown effects are ignored. Kubernetes v1.34 treats
//     every taint as if it forbids scheduling.
func understood(slice *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	if !slices.ContainsFunc(slice.Spec.Devices, hasNewer) {
		return slice
	}
	copied := *slice
	copied.Spec.Devices = slices.Clone(slice.Spec.Devices)
	for i := range copied.Spec.Devices {
		device := &copied.Spec.Devices[i]
		if !hasNewer(*device) {
			continue
		}
		device.Attributes = maps.Clone(device.Attributes)
		maps.DeleteFunc(device.Attributes, func(_ resourceapi.QualifiedName, a resourceapi.DeviceAttribute) bool { return !hasValue(a) })
		device.Taints = slices.DeleteFunc(slices.Clone(device.Taints), func(t resourceapi.DeviceTaint) bool { return !hasEffect(t) })
	}
	return &copied
}

func hasNewer(device resourceapi.Device) bool {
	for _, attribute := range device.Attributes {
		if !hasValue(attribute) {
			return true
		}
	}
	return slices.ContainsFunc(device.Taints, func(t resourceapi.DeviceTaint) bool { return !hasEffect(t) })
}

func hasValue(a resourceapi.DeviceAttribute) bool {
	return a.IntValue != nil || a.BoolValue != nil || a.StringValue != nil || a.VersionValue != nil
}

func hasEffect(t resourceapi.DeviceTaint) bool {
	return t.Effect == resourceapi.DeviceTaintEffectNoSchedule || t.Effect == resourceapi.DeviceTaintEffectNoExecute
}
