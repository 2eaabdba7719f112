// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"strconv"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// TestADeviceThatIsNotTakenKeepsItsCounters covers a fault of Kubernetes' algorithm: it takes the counters of a partition before it finds out that a
// constraint or a taint forbids the partition, and does not give them back.
func TestADeviceThatIsNotTakenKeepsItsCounters(t *testing.T) {
	gpus := []resourceapi.CounterSet{counters("gpu-0")}
	a, b := resourceapi.DeviceAttribute{StringValue: ptr.To("a")}, resourceapi.DeviceAttribute{StringValue: ptr.To("b")}
	tests := map[string]struct {
		of                         resourceapi.QualifiedName
		other, one, whole, another resourceapi.DeviceAttribute
	}{
		"strings":           {"model", b, a, a, a},
		"a domain":          {"driver/model", b, a, a, a},
		"numbers":           {"model", resourceapi.DeviceAttribute{IntValue: ptr.To(int64(2))}, resourceapi.DeviceAttribute{IntValue: ptr.To(int64(1))}, resourceapi.DeviceAttribute{IntValue: ptr.To(int64(1))}, resourceapi.DeviceAttribute{IntValue: ptr.To(int64(1))}},
		"booleans":          {"model", resourceapi.DeviceAttribute{BoolValue: ptr.To(false)}, resourceapi.DeviceAttribute{BoolValue: ptr.To(true)}, resourceapi.DeviceAttribute{BoolValue: ptr.To(true)}, resourceapi.DeviceAttribute{BoolValue: ptr.To(true)}},
		"versions":          {"model", resourceapi.DeviceAttribute{VersionValue: ptr.To("2.0.0")}, resourceapi.DeviceAttribute{VersionValue: ptr.To("1.0.0")}, resourceapi.DeviceAttribute{VersionValue: ptr.To("1.0.0")}, resourceapi.DeviceAttribute{VersionValue: ptr.To("1.0.0")}},
		"quotes in a value": {"model", b, resourceapi.DeviceAttribute{StringValue: ptr.To(`a"\`)}, resourceapi.DeviceAttribute{StringValue: ptr.To(`a"\`)}, resourceapi.DeviceAttribute{StringValue: ptr.To(`a"\`)}},
	}
	for name, test := range tests {
		t.Run("another "+name, func(t *testing.T) {
			devices := []resourceapi.Device{{Name: "other"}, consuming("half-0", "gpu-0", "40Gi"), consuming("whole", "gpu-0", "80Gi"), consuming("half-1", "gpu-0", "40Gi"), {Name: "without"}}
			for i, attribute := range []resourceapi.DeviceAttribute{test.other, test.one, test.whole, test.another} {
				devices[i].Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{test.of: attribute}
			}
			allocator := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu"), class("none", "false")}, inSlices(gpus, devices)))
			two := claim(exactly("one", "gpu", 1), firstAvailable("two", exactly("first", "none", 1), exactly("second", "gpu", 1)))
			two.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName("driver/model"))}}
			results, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{two}, Quota{Accepts: atMost(nil)}, alone().Node())
			if err != nil || len(results) != 1 || len(results[0].Devices.Results) != 2 {
				t.Fatalf("got %v, %v", results, err)
			}
			for i, want := range []string{"half-0", "half-1"} {
				if got := results[0].Devices.Results[i]; got.Device != want {
					t.Errorf("request %s gets %s, want %s", got.Request, got.Device, want)
				}
			}
		})
	}
	for _, inUse := range []bool{false, true} {
		t.Run("a taint, and its device is in use: "+strconv.FormatBool(inUse), func(t *testing.T) {
			devices := named(consuming("tainted", "gpu-0", "40Gi"), consuming("whole", "gpu-0", "80Gi"))
			devices[0].Taints = []resourceapi.DeviceTaint{{Key: "broken", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
			allocator := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, inSlices(gpus, devices)))
			if inUse {
				allocator.Take(&resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "driver", Pool: "n1", Device: "tainted"}}}})
			}
			if got := pick(t, allocator, "n1", exactly("r", "gpu", 1)); (got == nil) != inUse {
				t.Errorf("got %v", got)
			}
			tolerant := exactly("r", "gpu", 1)
			tolerant.Exactly.Tolerations = []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}}
			if got := pick(t, allocator, "n1", tolerant); !inUse && (got == nil || got.Devices.Results[0].Device != "tainted") {
				t.Errorf("a request that tolerates the taint gets %v", got)
			}
		})
	}
}
