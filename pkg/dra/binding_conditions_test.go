// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// bound returns a claim with these devices, each with a binding condition Ready and a failure condition Broken.
func bound(devices ...string) *resourceapi.ResourceClaim {
	c := claim()
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, name := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
			Request: "r", Driver: "driver", Pool: "pool", Device: name,
			BindingConditions: []string{"Ready"}, BindingFailureConditions: []string{"Broken"},
		})
	}
	return c
}

func written(c *resourceapi.ResourceClaim, device string, conditions ...metav1.Condition) *resourceapi.ResourceClaim {
	c.Status.Devices = append(c.Status.Devices, resourceapi.AllocatedDeviceStatus{Driver: "driver", Pool: "pool", Device: device, Conditions: conditions})
	return c
}

func condition(name string, status metav1.ConditionStatus, words ...string) metav1.Condition {
	c := metav1.Condition{Type: name, Status: status}
	if len(words) == 2 {
		c.Reason, c.Message = words[0], words[1]
	}
	return c
}

func texts(conditions []DeviceCondition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

func TestBindingConditions(t *testing.T) {
	shared := bound("a")
	shared.Status.Allocation.Devices.Results[0].ShareID = ptr.To(types.UID("mine"))
	written(shared, "a", condition("Ready", metav1.ConditionTrue)).Status.Devices[0].ShareID = ptr.To("theirs")
	plain := bound("a")
	plain.Status.Allocation.Devices.Results[0].BindingConditions = nil
	for _, c := range []struct {
		name          string
		claim         *resourceapi.ResourceClaim
		unmet, failed string
	}{
		{name: "a claim without devices", claim: claim()},
		{name: "a device without binding conditions", claim: written(plain, "a", condition("Broken", metav1.ConditionTrue))},
		{name: "nothing is written yet", claim: bound("a"), unmet: "condition Ready of device driver/pool/a"},
		{name: "a condition of another share counts for that one only", claim: shared, unmet: "condition Ready of device driver/pool/a"},
		{
			name: "one of two devices is ready", claim: written(bound("a", "b"), "a", condition("Ready", metav1.ConditionTrue)),
			unmet: "condition Ready of device driver/pool/b",
		},
		{
			name: "all are ready", claim: written(written(bound("a", "b"), "a", condition("Ready", metav1.ConditionTrue)), "b", condition("Ready", metav1.ConditionTrue),
				condition("Broken", metav1.ConditionFalse)),
		},
		{
			name: "a condition that is false says why", claim: written(bound("a"), "a", condition("Ready", metav1.ConditionFalse, "Attaching", "slot 3")),
			unmet: "condition Ready of device driver/pool/a (Attaching: slot 3)",
		},
		{
			name:  "a failure counts also while another device is not ready",
			claim: written(bound("a", "b"), "b", condition("Broken", metav1.ConditionTrue, "LinkDown", "no light")),
			unmet: "condition Ready of device driver/pool/a; condition Ready of device driver/pool/b", failed: "condition Broken of device driver/pool/b (LinkDown: no light)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := texts(UnmetConditions(c.claim)); got != c.unmet {
				t.Errorf("not true are %q, want %q", got, c.unmet)
			}
			if got := texts(FailedConditions(c.claim)); got != c.failed {
				t.Errorf("failed are %q, want %q", got, c.failed)
			}
		})
	}
}

func TestADeviceIsSparedIfThereIsAnother(t *testing.T) {
	a, one := stock(map[string]int{"h100": 2}), exactly("r", "h100", 1)
	a.Spare(map[DeviceID]bool{{"driver", "n1", "h100-0"}: true})
	first := pick(t, a, "n1", one)
	if first == nil || first.Devices.Results[0].Device != "h100-1" || a.HasSpared(first) {
		t.Fatalf("picked first: %v", first)
	}
	a.Take(first)
	second := pick(t, a, "n1", one)
	if second == nil || second.Devices.Results[0].Device != "h100-0" || !a.HasSpared(second) {
		t.Fatalf("picked when there is no other: %v", second)
	}
	a.Take(second)
	if third := pick(t, a, "n1", one); third != nil {
		t.Errorf("picked when none is free: %v", third)
	}
}

// TestDevicesWithBindingConditions checks that these devices come last, and only if the scheduler waits for them. A device that
// binds to its node makes the allocation local, even if other nodes can reach the device.
func TestDevicesWithBindingConditions(t *testing.T) {
	for _, c := range []struct {
		waits, local bool
		want         []string
	}{
		{waits: true, want: []string{"plain", "fabric"}},
		{waits: true, local: true, want: []string{"plain", "fabric n1"}},
		{waits: false, want: []string{"plain"}},
	} {
		t.Run(fmt.Sprintf("waits %t, local %t", c.waits, c.local), func(t *testing.T) {
			fabric := resourceapi.Device{Name: "fabric", BindingConditions: []string{"Ready"}, BindingFailureConditions: []string{"Broken"}}
			if c.local {
				fabric.BindsToNode = ptr.To(true)
			}
			slice := func(pool string, device resourceapi.Device) *resourceapi.ResourceSlice {
				return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}, Spec: resourceapi.ResourceSliceSpec{
					Driver: "driver", AllNodes: ptr.To(true), Pool: resourceapi.ResourcePool{Name: pool, ResourceSliceCount: 1}, Devices: []resourceapi.Device{device},
				}}
			}
			a := stock(nil)
			a.features.DeviceBinding, a.features.DeviceStatus = c.waits, c.waits
			a.catalog = NewCatalog([]*resourceapi.DeviceClass{class("h100")}, []*resourceapi.ResourceSlice{slice("a", fabric), slice("b", resourceapi.Device{Name: "plain"})})
			var got []string
			for picked := pick(t, a, "n1", exactly("r", "h100", 1)); picked != nil; picked = pick(t, a, "n1", exactly("r", "h100", 1)) {
				result := picked.Devices.Results[0]
				name := result.Device
				if picked.NodeSelector != nil {
					name += " " + picked.NodeSelector.NodeSelectorTerms[0].MatchFields[0].Values[0]
				}
				got = append(got, name)
				if waits := len(result.BindingConditions) > 0; waits != (result.Device == "fabric") {
					t.Errorf("device %s has the conditions %v", result.Device, result.BindingConditions)
				}
				a.Take(picked)
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("picked are %v, want %v", got, c.want)
			}
		})
	}
}
