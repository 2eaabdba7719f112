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
	"github.com/devicequota/devicequota/pkg/ledger"
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

// limitedTo80Gi gives a queue a quota with a capacity.
func limitedTo80Gi(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
	object.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {
		Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse("80Gi")},
	}}}
}

// holdGone charges a queue for claims with devices that are not published.
func holdGone(t *testing.T, s *Snapshot, queue string, claims int) {
	t.Helper()
	id, _ := s.Ledger.Queue(queue)
	for i := range claims {
		name := fmt.Sprint("gone-", i)
		if err := s.Ledger.Charge(id, ledger.Holder(name), ledger.Demand{s.Counter.Claims.Of(claimOfClass(name, true)).Part}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheSameClaimWithoutACapacityIsNamed: another claim in each session would mean another event.
func TestTheSameClaimWithoutACapacityIsNamed(t *testing.T) {
	f := newFixture(t).queue("team", "root", limitedTo80Gi)
	s := f.take()
	queue, _ := s.Ledger.Queue("team")
	pod := &demand.Pod{Claims: []*demand.Claim{s.Counter.Claims.Of(claimOfClass("wanted", false))}}
	holdGone(t, s, "team", 8)
	texts := map[string]bool{}
	for range 20 {
		s.unknownCapacity = nil
		s.findUnknownCapacity()
		texts[s.CapacityInUseUnknown(queue, pod.Wants).Message()] = true
	}
	if len(texts) != 1 {
		t.Errorf("there are %d texts: %v", len(texts), texts)
	}
}

// TestAnUnknownCapacityCountsWhereItIsPaid, and keeps nobody waiting in queues that do not pay for it.
func TestAnUnknownCapacityCountsWhereItIsPaid(t *testing.T) {
	f := newFixture(t).queue("org", "root", limitedTo80Gi).queue("team", "org", limitedTo80Gi).queue("unlimited", "org").queue("other", "root", limitedTo80Gi)
	for _, c := range []struct {
		payer string
		want  map[string]bool
	}{
		{"team", map[string]bool{"team": true, "unlimited": true, "other": false}},
		{"unlimited", map[string]bool{"team": true, "unlimited": true, "other": false}},
		{"other", map[string]bool{"team": false, "unlimited": false, "other": true}},
		{"root", map[string]bool{"team": false, "unlimited": false, "other": false}},
	} {
		s := f.take()
		holdGone(t, s, c.payer, 1)
		s.findUnknownCapacity()
		for name, want := range c.want {
			queue, _ := s.Ledger.Queue(name)
			h100, _ := s.Dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
			refusal := s.RefuseUnknown(queue, ledger.Amounts{{Dimension: h100, Amount: ledger.Units(1)}})
			if (refusal != nil) != want {
				t.Errorf("queue %s pays, and queue %s is refused: got %v, want %v", c.payer, name, refusal, want)
			}
			if refusal := s.RefuseUnknown(queue, nil); refusal != nil {
				t.Errorf("queue %s is refused no devices: %v", name, refusal)
			}
		}
	}
}
