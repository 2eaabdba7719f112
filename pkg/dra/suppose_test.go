// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// state describes the devices in use, as text.
func (a *Allocator) state() string {
	words := []string{fmt.Sprint(a.taken.AllocatedDevices.Len(), a.taken.AllocatedSharedDeviceIDs.Len())}
	for id := range a.taken.AllocatedDevices {
		words = append(words, id.String())
	}
	for id := range a.taken.AllocatedSharedDeviceIDs {
		words = append(words, id.String())
	}
	for id, capacity := range a.taken.AggregatedCapacity {
		for name, quantity := range capacity {
			words = append(words, fmt.Sprint(id, name, quantity.String()))
		}
	}
	slices.Sort(words)
	return strings.Join(words, "\n")
}

func TestWhatIsSupposedIsUndoneExactly(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		allocation := func(whole bool) *resourceapi.AllocationResult {
			var all resourceapi.AllocationResult
			for range random.IntN(3) {
				result := resourceapi.DeviceRequestAllocationResult{Driver: "driver", Pool: "n1", Device: fmt.Sprint("d", random.IntN(6))}
				if !whole {
					result.Device = "shared"
					result.ShareID = ptr.To(types.UID(fmt.Sprint("share", random.IntN(4))))
					result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("10Gi")}
				}
				all.Devices.Results = append(all.Devices.Results, result)
			}
			return &all
		}
		several := func() (all []*resourceapi.AllocationResult) {
			for range random.IntN(4) {
				all = append(all, allocation(random.IntN(2) == 0))
			}
			return all
		}
		a := stock(nil)
		for _, taken := range several() {
			a.Take(taken)
		}
		before, changes := a.state(), a.ChangesOn("n1")
		undo := a.Suppose(several(), several())
		if inner := a.state(); inner != before {
			a.Suppose(several(), several())()
			if a.state() != inner {
				t.Fatalf("seed %d: in use are %s, and after a change that was undone %s", seed, inner, a.state())
			}
		}
		undo()
		if a.state() != before || a.ChangesOn("n1") == changes {
			t.Fatalf("seed %d: in use were %s, and after all is undone %s", seed, before, a.state())
		}
	}
}
