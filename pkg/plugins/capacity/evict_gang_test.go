// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestNoNodeIsPromisedMoreThanItHas: the first pod of the gang needs its own victim, although the victim of the second one would be
// enough for the quota.
func TestNoNodeIsPromisedMoreThanItHas(t *testing.T) {
	s := newFixture(3, 4).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{})
	s.stocked(2)
	s.job("small", "q", running, nil, s.holding(0, 1, newPod("small", "n1", cpu(2))))
	s.job("large", "q", running, nil, newPod("large", "n2", cpu(3)))
	s.job("gang", "q", inqueue, nil,
		withPriority(s.claimed(1, newPod("gang-0", "", cpu(2))), 9), withPriority(newPod("gang-1", "", cpu(2)), 9))
	expectStatuses(t, s.act(t), "gang-0:Pipelined gang-1:Pipelined large:Releasing small:Releasing")
}
