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
	wholes, halves := class("whole", `device.attributes["driver"].name == "whole"`), class("half", `device.attributes["driver"].name != "whole"`)
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{wholes, halves}, inSlices([]resourceapi.CounterSet{counters("gpu-0")}, named(devices...))))
	pick := func(alternatives ...resourceapi.DeviceRequest) *resourceapi.AllocationResult {
		return pick(t, a, "n1", firstAvailable("gpu", alternatives...))
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
