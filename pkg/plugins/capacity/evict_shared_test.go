// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

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
