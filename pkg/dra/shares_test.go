// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// shareable returns a partition whose users divide its memory, such as MIG with MPS.
func shareable(name, gpu, memory string) resourceapi.Device {
	device := consuming(name, gpu, memory)
	device.AllowMultipleAllocations = ptr.To(true)
	device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {
		Value: resource.MustParse(memory), RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("10Gi"))},
	}}
	return device
}

// named adds an attribute with the name to each device.
func named(devices ...resourceapi.Device) []resourceapi.Device {
	for i := range devices {
		devices[i].Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"name": {StringValue: ptr.To(devices[i].Name)}}
	}
	return devices
}

// pickNamed returns an allocation of a device, or nil if the allocator does not hand it out.
func pickNamed(t *testing.T, a *Allocator, name string) *resourceapi.AllocationResult {
	t.Helper()
	return pick(t, a, "n1", where(exactly("r", "gpu", 1), fmt.Sprintf(`device.attributes["driver"].name == %q`, name)))
}

// TestAPartitionThatIsSharedKeepsItsCounters covers faults of Kubernetes' algorithm. It ignores the consumption of shared devices in
// existing allocations (kubernetes 139034). A later share consumes nothing more (kubernetes 134100).
func TestAPartitionThatIsSharedKeepsItsCounters(t *testing.T) {
	gpus := []resourceapi.CounterSet{counters("gpu-0")}
	devices := named(consuming("whole", "gpu-0", "80Gi"), shareable("half", "gpu-0", "40Gi"), consuming("other", "gpu-0", "40Gi"), consuming("third", "gpu-0", "40Gi"))
	together := inSlices(nil, devices)[1:]
	together[0].Spec.SharedCounters, together[0].Spec.Pool.ResourceSliceCount = gpus, 1
	for kind, all := range map[string][]*resourceapi.ResourceSlice{"counters in a slice of their own": inSlices(gpus, devices), "counters beside the devices": together} {
		t.Run(kind, func(t *testing.T) {
			a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, all))
			for _, step := range []struct {
				device string
				want   bool
			}{{"half", true}, {"whole", false}, {"half", true}, {"other", true}, {"half", true}, {"third", false}, {"half", true}, {"half", false}, {"whole", false}} {
				allocation := pickNamed(t, a, step.device)
				if allocation != nil {
					a.Take(allocation)
				}
				if got := allocation != nil; got != step.want {
					t.Fatalf("%s is handed out: %t", step.device, got)
				}
			}
		})
	}
}

func TestTheLastShareReturnsTheCountersOfAPartition(t *testing.T) {
	devices := named(consuming("whole", "gpu-0", "80Gi"), shareable("half", "gpu-0", "40Gi"))
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, inSlices([]resourceapi.CounterSet{counters("gpu-0")}, devices)))
	first := pickNamed(t, a, "half")
	a.Take(first)
	second := pickNamed(t, a, "half")
	a.Take(second)
	a.Take(second)
	a.PutBack(first)
	a.PutBack(first)
	if pickNamed(t, a, "whole") != nil {
		t.Error("the whole GPU is handed out beside a share")
	}
	undo := a.Suppose([]*resourceapi.AllocationResult{second}, nil)
	if pickNamed(t, a, "whole") == nil {
		t.Error("the whole GPU is not handed out if the last share goes")
	}
	undo()
	if pickNamed(t, a, "whole") != nil {
		t.Error("the whole GPU is handed out beside a share that has come back")
	}
	a.PutBack(second)
	if pickNamed(t, a, "whole") == nil {
		t.Error("the whole GPU is not handed out when the last share has gone")
	}
}

// TestTheClaimsOfSeveralPodsAreOneQuestion is the example of kubernetes 138765: the first of two pods takes the whole device, unless both are asked
// about together.
func TestTheClaimsOfSeveralPodsAreOneQuestion(t *testing.T) {
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
	both := []*resourceapi.ResourceClaim{claim(firstAvailable("gpu", whole, half)), claim(firstAvailable("gpu", whole, half))}
	if results, err := a.Pick(t.Context(), onNode("n1"), both, Quota{Accepts: atMost(nil)}, alone().Node()); err != nil || len(results) != 2 {
		t.Errorf("both pods get %v, %v", results, err)
	}
}
