// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/demand"
)

// claimOfClass returns a claim for a device of class h100. If allocated is set, it has a device that is not published.
func claimOfClass(name string, allocated bool) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
		}}}},
	}
	if allocated {
		claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
			Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: name}},
		}}
	}
	return claim
}

// TestTheSameClaimWithoutACapacityIsNamed: another claim in each session would mean another event.
func TestTheSameClaimWithoutACapacityIsNamed(t *testing.T) {
	f := newFixture(t).queue("team", "root", func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
		object.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {
			Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse("80Gi")},
		}}}
	})
	s := f.take()
	queue, _ := s.Ledger.Queue("team")
	pod := &demand.Pod{Claims: []*demand.Claim{s.Counter.Claims.Of(claimOfClass("wanted", false))}}
	for i := range 8 {
		s.Counter.Claims.Of(claimOfClass(fmt.Sprint("gone-", i), true))
	}
	texts := map[string]bool{}
	for range 20 {
		s.unknownCapacity = nil
		s.findUnknownCapacity()
		texts[s.CapacityInUseUnknown(queue, pod).Message()] = true
	}
	if len(texts) != 1 {
		t.Errorf("there are %d texts: %v", len(texts), texts)
	}
}
