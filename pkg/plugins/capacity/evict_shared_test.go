// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestSharedClaimsOfSeveralPodsGoTogether: pod b shares one claim with pod a, and another claim with pod c.
func TestSharedClaimsOfSeveralPodsGoTogether(t *testing.T) {
	for range 8 {
		s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
		s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(2)
		s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}})
		a, c := s.holding(0, 1, newPod("a", "n1", cpu(1))), s.holding(1, 1, newPod("c", "n1", cpu(1)))
		b := sharing(a, newPod("b", "n1", cpu(1)))
		b.Spec.ResourceClaims = append(b.Spec.ResourceClaims[:1:1], c.Spec.ResourceClaims[0])
		b.Spec.ResourceClaims[1].Name = "more"
		for _, claim := range s.ResourceClaims {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: b.Name, UID: b.UID})
		}
		s.job("a", "lender", running, nil, a).job("b", "lender", running, nil, b).job("c", "lender", running, nil, c)
		s.job("p", "q", inqueue, nil, s.claimed(2, newPod("p", "", cpu(1))))
		expectStatuses(t, s.act(t), "a:Releasing b:Releasing c:Releasing p:Pipelined")
	}
}

// TestGangThatSharesAClaimNeedsRoomForItOnce: the queue deserves and may have one device, and the pods of the gang share a claim for it.
func TestGangThatSharesAClaimNeedsRoomForItOnce(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(1)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1), Deserved: counts(1)}})
	s.job("a", "lender", running, nil, s.holding(0, 1, newPod("a", "n1", cpu(1))))
	first := s.claimed(1, newPod("p1", "", cpu(1)))
	s.job("p", "q", inqueue, nil, first, sharing(first, newPod("p2", "", cpu(1))), sharing(first, newPod("p3", "", cpu(1))))
	s.group().MinMember = 3
	expectStatuses(t, s.act(t), "a:Releasing p1:Pipelined p2:Pipelined p3:Pipelined")
}
