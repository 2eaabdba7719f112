// SPDX-License-Identifier: Apache-2.0

package lint

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// setDefaults sets what the API server sets in claims and templates.
func setDefaults(object runtime.Object) {
	var spec *resourceapi.ResourceClaimSpec
	switch o := object.(type) {
	case *resourceapi.ResourceClaim:
		spec = &o.Spec
	case *resourceapi.ResourceClaimTemplate:
		spec = &o.Spec.Spec
	default:
		return
	}
	for i := range spec.Devices.Requests {
		request := &spec.Devices.Requests[i]
		if exactly := request.Exactly; exactly != nil {
			setCount(&exactly.AllocationMode, &exactly.Count)
		}
		for j := range request.FirstAvailable {
			setCount(&request.FirstAvailable[j].AllocationMode, &request.FirstAvailable[j].Count)
		}
	}
}

func setCount(mode *resourceapi.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourceapi.DeviceAllocationModeExactCount
	}
	if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}
