// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

func TestTheMostOnANodeIsWhatItReachesUnlessDevicesAreShared(t *testing.T) {
	slice := func(pool, node string, names ...string) *resourceapi.ResourceSlice {
		var devices []resourceapi.Device
		for _, name := range names {
			devices = append(devices, resourceapi.Device{Name: name})
		}
		return sliceOn(node, pool, devices...)
	}
	fabric := slice("fabric", "", "d-0")
	fabric.Spec.AllNodes = ptr.To(true)
	shared := slice("shared", "n3", "d-0")
	shared.Spec.Devices[0].AllowMultipleAllocations = ptr.To(true)
	own := []*resourceapi.ResourceSlice{slice("n1", "n1", "d-0"), slice("n2", "n2", "d-0", "d-1", "d-2")}

	for _, c := range []struct {
		name   string
		slices []*resourceapi.ResourceSlice
		class  string
		want   int64
	}{
		{"the largest node counts", own, "any", 3},
		{"a pool that several nodes reach is added", append(own[:2:2], fabric), "any", 4},
		{"a device that allows multiple allocations has no limit", append(own[:2:2], shared), "any", 0},
		{"a class that does not exist has none", own, "other", 0},
	} {
		a := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("any")}, c.slices))
		for range 2 { // the second answer is remembered
			if got := a.catalog.MostOnNode(t.Context(), a.celCache, c.class); got != c.want {
				t.Errorf("%s: got %d, want %d", c.name, got, c.want)
			}
		}
	}
}
