// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated: another process of the scheduler has bound it. Claims and pods are
// watched separately.
func TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
	bound := chargerecord.OnPod(s.holding(0, 1, newPod("bound", "n1", cpu(1))), "root/q", "")
	claim := s.ResourceClaims[0]
	chargerecord.SetClaims(bound, []*resourcev1.ResourceClaim{claim})
	claim.Status = resourcev1.ResourceClaimStatus{}
	s.job("bound", "q", running, nil, bound)
	s.job("next", "q", inqueue, nil, s.claimed(1, newPod("next", "", cpu(1))))
	expectStatuses(t, s.act(t), "bound:Running next:Pending")
}
