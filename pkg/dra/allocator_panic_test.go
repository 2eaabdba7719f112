// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestPanicOfTheAllocator uses a request that gets devices of two pools with one device each.
func TestPanicOfTheAllocator(t *testing.T) {
	var slices []*resourceapi.ResourceSlice
	for _, pool := range []string{"first", "second"} {
		slices = append(slices, sliceOn("n1", pool, resourceapi.Device{Name: "gpu"}))
	}
	allocator := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, slices))
	pick := func(request resourceapi.DeviceRequest) ([]resourceapi.AllocationResult, error) {
		quota := Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}
		return allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(request)}, quota, alone().Node())
	}

	got, err := pick(exactly("r", "gpu", 2))
	if err != nil || len(got) != 1 || len(got[0].Devices.Results) != 2 || got[0].Devices.Results[0].Device+got[0].Devices.Results[1].Device != "gpugpu" {
		t.Errorf("two devices: %v, error %v", got, err)
	}
	if got, err := pick(exactly("r", "gpu", 3)); err != nil || got != nil {
		t.Errorf("three devices: %v, error %v", got, err)
	}
	if _, err := pick(all("r", "gpu")); err == nil || !strings.Contains(err.Error(), "the allocator of Kubernetes cannot allocate devices on node n1: ") {
		t.Errorf("all devices: the error is %v", err)
	}
}
