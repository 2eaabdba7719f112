// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// consuming returns a device that consumes an amount of a GPU's memory.
func consuming(name, gpu, memory string) resourceapi.Device {
	return resourceapi.Device{Name: name, ConsumesCounters: []resourceapi.DeviceCounterConsumption{{
		CounterSet: gpu, Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse(memory)}},
	}}}
}

// counters returns the counter set of a GPU with 80Gi.
func counters(gpu string) resourceapi.CounterSet {
	return resourceapi.CounterSet{Name: gpu, Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("80Gi")}}}
}

// inSlices returns a pool on node n1 in the form of Kubernetes 1.35: a slice with counters, and one slice per list of devices.
func inSlices(sets []resourceapi.CounterSet, devices ...[]resourceapi.Device) []*resourceapi.ResourceSlice {
	pool := resourceapi.ResourcePool{Name: "n1", Generation: 1, ResourceSliceCount: int64(len(devices)) + 1}
	all := []*resourceapi.ResourceSlice{{
		ObjectMeta: metav1.ObjectMeta{Name: "counters"},
		Spec:       resourceapi.ResourceSliceSpec{Driver: "driver", NodeName: ptr.To("n1"), Pool: pool, SharedCounters: sets},
	}}
	for i, of := range devices {
		slice := sliceOn("n1", "devices-"+string(rune('a'+i)), of...)
		slice.Spec.Pool = pool
		all = append(all, slice)
	}
	return all
}

// pickable returns the devices of class gpu that the allocator hands out on node n1 to one claim after another.
func pickable(t *testing.T, a *Allocator) []string {
	t.Helper()
	var devices []string
	for {
		picked := pick(t, a, "n1", exactly("r", "gpu", 1))
		if picked == nil {
			return devices
		}
		a.Take(picked)
		devices = append(devices, picked.Devices.Results[0].Device)
	}
}

func TestCountersOfAnotherSliceHold(t *testing.T) {
	gpus := []resourceapi.CounterSet{counters("gpu-0"), counters("gpu-1")}
	first := []resourceapi.Device{consuming("gpu-0", "gpu-0", "80Gi"), consuming("gpu-0-half-0", "gpu-0", "40Gi"), consuming("gpu-0-half-1", "gpu-0", "40Gi")}
	second := []resourceapi.Device{consuming("gpu-1-half-0", "gpu-1", "40Gi"), consuming("gpu-1-half-1", "gpu-1", "40Gi"), consuming("gpu-1", "gpu-1", "80Gi")}
	for _, c := range []struct {
		name   string
		change func([]*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice
		want   []string
	}{
		{name: "a GPU and its partitions are never handed out together", want: []string{"gpu-0", "gpu-1-half-0", "gpu-1-half-1"}},
		{
			name: "an outdated slice counts for nothing",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
				old := all[1].DeepCopy()
				old.Name, old.Spec.Pool.Generation, old.Spec.Devices[0].Name = "old", 0, "gpu-9"
				return append(all, old)
			},
			want: []string{"gpu-0", "gpu-1-half-0", "gpu-1-half-1"},
		},
		{
			name: "devices of other nodes consume, too",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
				all[2].Spec.NodeName = ptr.To("n2")
				return all
			},
			want: []string{"gpu-0"},
		},
		{
			name:   "nothing is handed out while the slice with the counters is missing",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice { return all[1:] },
		},
		{
			name:   "nothing is handed out while a slice with devices is missing",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice { return all[:2] },
		},
		{
			name: "nothing is handed out if a counter does not exist",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
				delete(all[0].Spec.SharedCounters[0].Counters, "memory")
				return all
			},
		},
		{
			name: "nothing is handed out if two slices have the same counter set",
			change: func(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
				all[0].Spec.SharedCounters = append(all[0].Spec.SharedCounters, counters("gpu-0"))
				return all
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []*resourceapi.ResourceSlice
			for _, slice := range inSlices(gpus, first, second) {
				all = append(all, slice.DeepCopy())
			}
			if c.change != nil {
				all = c.change(all)
			}
			catalog := NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, all)
			if got := pickable(t, withEverything(catalog)); !slices.Equal(got, c.want) {
				t.Errorf("the devices handed out are %v, want %v", got, c.want)
			}
			if _, known := catalog.Device(DeviceID{"driver", "n1", "gpu-0"}); !known {
				t.Error("the catalog lacks a device that an earlier allocation may have")
			}
		})
	}
}

func TestADeviceOfAnotherNodeThatConsumesTheSameCounters(t *testing.T) {
	all := inSlices([]resourceapi.CounterSet{counters("gpu-0")}, []resourceapi.Device{consuming("here", "gpu-0", "80Gi")}, []resourceapi.Device{consuming("there", "gpu-0", "80Gi")})
	all[2].Spec.NodeName = ptr.To("n2")
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, all))
	a.Take(&resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
		Request: "r", Driver: "driver", Pool: "n1", Device: "there",
	}}}})
	if got := pickable(t, a); len(got) > 0 {
		t.Errorf("%v was handed out although a device of node n2 has all of its memory", got)
	}
}
