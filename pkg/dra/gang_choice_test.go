// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestTheFirstPodOfAGangTakesTheWholeDevice pins the behavior in docs/dra.md: pods choose one after another. A gang may wait although it
// would fit if its first pod took its second choice (kubernetes 138765).
func TestTheFirstPodOfAGangTakesTheWholeDevice(t *testing.T) {
	devices := []resourceapi.Device{consuming("whole", "gpu-0", "80Gi"), consuming("half-0", "gpu-0", "40Gi"), consuming("half-1", "gpu-0", "40Gi")}
	wholes, halves := class("whole"), class("half")
	wholes.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.attributes["driver"].name == "whole"`}}}
	halves.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.attributes["driver"].name != "whole"`}}}
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{wholes, halves}, inSlices([]resourceapi.CounterSet{counters("gpu-0")}, named(devices...))))
	pick := func(alternatives ...resourceapi.DeviceRequest) *resourceapi.AllocationResult {
		c := claim(firstAvailable("gpu", alternatives...))
		results, err := a.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{c}, Quota{Accepts: atMost(nil)}, Alone().Node())
		if err != nil {
			t.Fatal(err)
		}
		if results == nil {
			return nil
		}
		return &results[0]
	}
	whole, half := exactly("whole", "whole", 1), exactly("half", "half", 1)
	first := pick(whole, half)
	if first == nil || first.Devices.Results[0].Device != "whole" {
		t.Fatalf("the first pod gets %v", first)
	}
	a.Take(first)
	if second := pick(whole, half); second != nil {
		t.Errorf("the second pod gets %v beside the whole device", second)
	}

	a.PutBack(first)
	for _, name := range []string{"first", "second"} {
		allocation := pick(half, whole)
		if allocation == nil {
			t.Fatalf("the %s pod gets nothing if pods prefer halves", name)
		}
		a.Take(allocation)
	}
}
