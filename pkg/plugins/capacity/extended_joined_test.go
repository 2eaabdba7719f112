// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestNobodyJoinsAnExtendedClaim: users who may create pods in a namespace can name the claim for another pod's extended resources. That
// pod's queue would be charged for both the resources and the devices.
func TestNobodyJoinsAnExtendedClaim(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("other", "root", nil)
	s.withDevices(nil).offered(4, "n1")
	runs := s.holdingExtended(t, 2, chargerecord.OnPod(newPod("runs", "n1", gpu(2)), "root/q", ""))
	claim := s.ResourceClaims[0]
	chargerecord.SetClaims(runs, s.ResourceClaims)
	joins := newPod("joins", "", nil)
	joins.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: ptr.To(claim.Name)}}
	s.job("j", "q", running, nil, runs).job("k", "other", inqueue, nil, joins)
	expectStatuses(t, s.act(t), "joins:Pending runs:Running")
}
