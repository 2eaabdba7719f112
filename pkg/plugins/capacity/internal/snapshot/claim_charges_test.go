// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// allocatedClaims reads claims that no pod of the session uses.
type allocatedClaims struct {
	devices.ClaimReader
	all []*resourceapi.ResourceClaim
}

func (r allocatedClaims) Allocated() ([]*resourceapi.ResourceClaim, error) { return r.all, nil }

// TestClaimsOfAQueueWithoutAPlaceStayCharged: an ancestor pays in the meantime, but no longer.
func TestClaimsOfAQueueWithoutAPlaceStayCharged(t *testing.T) {
	for _, c := range []struct {
		name string
		// missing says that the queue has no place when the scheduler starts.
		missing bool
	}{
		{"while the scheduler runs", false},
		{"from the start", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("org", "root").queue("team", "org", quotaOf("", 1))
			f.input.Claims = allocatedClaims{all: []*resourceapi.ResourceClaim{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "c", Annotations: map[string]string{chargerecord.QueueAnnotation: "root/org/team"}},
				Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
					Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
				}}}},
				Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
					Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "gpu", Pool: "n1", Device: "gpu-0"}},
				}}},
			}}}
			if !c.missing {
				f.expectDevices(t, "before", map[string]int64{"team": 1, "org": 1})
			}
			f.queue("team", "nowhere", quotaOf("", 1))
			for _, when := range []string{"without its parent", "later"} {
				f.expectDevices(t, when, map[string]int64{"org": 1, "root": 1})
			}
			f.queue("team", "org", quotaOf("", 1))
			for _, when := range []string{"when its parent is right again", "later"} {
				f.expectDevices(t, when, map[string]int64{"team": 1, "org": 1, "root": 1})
			}
			f.queue("other", "root").queue("team", "other", quotaOf("", 1))
			f.expectDevices(t, "when it has another parent", map[string]int64{"team": 1, "org": 0, "other": 1, "root": 1})
			f.queue("team", "nowhere", quotaOf("", 1))
			f.expectDevices(t, "without that parent", map[string]int64{"org": 0, "other": 1, "root": 1})
		})
	}
}

// expectDevices runs a session, and checks how many devices of class h100 queues are charged for.
func (f *fixture) expectDevices(t *testing.T, when string, want map[string]int64) {
	t.Helper()
	s := f.take()
	defer s.RememberPayers()
	for name, count := range want {
		queue, found := s.Ledger.Queue(name)
		o, known := s.Dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
		if !found || !known {
			t.Fatalf("%s: there is no queue %s, or no class", when, name)
		}
		if used := s.Ledger.Used(queue, o); used != ledger.Units(count) {
			t.Errorf("%s: queue %s is charged %s devices, want %d", when, name, used, count)
		}
	}
}
