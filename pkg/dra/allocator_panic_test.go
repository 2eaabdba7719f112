// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// TestPanicOfTheAllocatorRefusesTheClaims: with consumable capacity, the allocator of v0.34.10 looks up a device of a slice
// by the device's place among those of the request.
func TestPanicOfTheAllocatorRefusesTheClaims(t *testing.T) {
	var slices []*resourceapi.ResourceSlice
	for _, pool := range []string{"first", "second"} {
		slices = append(slices, &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}, Spec: resourceapi.ResourceSliceSpec{
			Driver: "driver", NodeName: ptr.To("n1"), Pool: resourceapi.ResourcePool{Name: pool, ResourceSliceCount: 1}, Devices: []resourceapi.Device{{Name: "gpu"}},
		}})
	}
	catalog := NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, slices)
	allocator := NewAllocator(structured.Features{ConsumableCapacity: true}, catalog, cel.NewCache(10, cel.Features{EnableConsumableCapacity: true}))
	two := claim(exactly("r", "gpu", 2))
	_, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{two}, Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}, Alone().Node())
	if err == nil || !strings.Contains(err.Error(), "the allocator of Kubernetes cannot allocate devices on node n1: ") {
		t.Errorf("the error is %v", err)
	}
}
