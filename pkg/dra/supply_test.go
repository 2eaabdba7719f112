// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestSuppliesCountTheDevicesOfAClass(t *testing.T) {
	a := stock(map[string]int{"gpu": 8, "nic": 2})
	a.use("gpu", 3)
	devices := a.catalog.ofNode["n1"][0].Spec.Devices
	for i := range devices {
		switch devices[i].Name {
		case "gpu-6":
			devices[i].Taints = []resourceapi.DeviceTaint{{Key: "broken", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		case "gpu-7":
			devices[i].AllowMultipleAllocations = ptr.To(true)
		}
	}
	a.features.DeviceTaints = true
	share := types.UID("share")
	a.Take(&resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Driver: "driver", Pool: "n1", Device: "gpu-7", ShareID: &share, ConsumedCapacity: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1Gi")}},
	}}})
	if got, want := a.Supplies(t.Context(), "gpu").OnNode["n1"], (Supply{Total: 8, Free: 3, Shared: 1, Tainted: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := a.Supplies(t.Context(), "tpu"); len(got.OnNode)+len(got.InPool) != 0 {
		t.Errorf("a class that does not exist: %+v", got)
	}
}

func TestSuppliesOfPartitionsGoByTheirCounters(t *testing.T) {
	slice := sliceOn("n1", "n1", consuming("whole", "gpu", "80Gi"), consuming("half-0", "gpu", "40Gi"), consuming("half-1", "gpu", "40Gi"))
	slice.Spec.SharedCounters = []resourceapi.CounterSet{counters("gpu")}
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("any")}, []*resourceapi.ResourceSlice{slice}))
	a.Take(&resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Driver: "driver", Pool: "n1", Device: "half-0"}}}})
	if got, want := a.Supplies(t.Context(), "any").OnNode["n1"], (Supply{Total: 3, Free: 1}); got != want {
		t.Errorf("with half of the GPU in use: got %+v, want %+v", got, want)
	}
}

func TestSuppliesTellNodesFromPoolsThatSeveralNodesReach(t *testing.T) {
	slice := func(pool string, reach func(*resourceapi.ResourceSliceSpec)) *resourceapi.ResourceSlice {
		s := sliceOn("", pool, resourceapi.Device{Name: "d-0"}, resourceapi.Device{Name: "d-1"})
		reach(&s.Spec)
		return s
	}
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("any")}, []*resourceapi.ResourceSlice{
		slice("local", func(s *resourceapi.ResourceSliceSpec) { s.NodeName = ptr.To("n1") }),
		slice("fabric", func(s *resourceapi.ResourceSliceSpec) { s.AllNodes = ptr.To(true) }),
		slice("each", func(s *resourceapi.ResourceSliceSpec) {
			s.PerDeviceNodeSelection = ptr.To(true)
			s.Devices[0].NodeName, s.Devices[1].AllNodes = ptr.To("n2"), ptr.To(true)
		}),
		slice("incomplete", func(s *resourceapi.ResourceSliceSpec) { s.NodeName, s.Pool.ResourceSliceCount = ptr.To("n3"), 2 }),
	}))
	got := a.Supplies(t.Context(), "any")
	if len(got.OnNode) != 2 || got.OnNode["n1"].Total != 2 || got.OnNode["n2"].Total != 1 {
		t.Errorf("on nodes: %+v", got.OnNode)
	}
	if len(got.InPool) != 2 || got.InPool[PoolID{"driver", "fabric"}].Free != 2 || got.InPool[PoolID{"driver", "each"}].Free != 1 {
		t.Errorf("in pools: %+v", got.InPool)
	}
}
