// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated: another process of the scheduler has bound it. Claims and pods are
// watched separately.
func TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated(t *testing.T) {
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(d)} }
	for _, c := range []struct {
		name, want string
		ends       *metav1.Time
	}{
		{"it runs", "bound:Running next:Pending", nil},
		{"it is deleted", "bound:Releasing next:Pipelined", in(30 * time.Second)},
		{"it is deleted and ends late", "bound:Releasing next:Pending", in(time.Hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
			s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
			bound := chargerecord.OnPod(s.holding(0, 1, newPod("bound", "n1", cpu(1))), "root/q", "")
			claim := s.ResourceClaims[0]
			chargerecord.SetClaims(bound, []*resourcev1.ResourceClaim{claim})
			claim.Status, bound.DeletionTimestamp = resourcev1.ResourceClaimStatus{}, c.ends
			s.job("bound", "q", running, nil, bound)
			s.job("next", "q", inqueue, nil, s.claimed(1, newPod("next", "", cpu(1))))
			expectStatuses(t, s.act(t), c.want)
		})
	}
}
