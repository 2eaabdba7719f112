// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestAPodWithoutDevicesReclaimsFromPodsWithDevices, unless their queue holds no more devices than it deserves. Upstream's action decides.
func TestAPodWithoutDevicesReclaimsFromPodsWithDevices(t *testing.T) {
	for deserved, want := range map[int64]string{
		0: "low-0:Releasing low-1:Releasing p:Pipelined",
		2: "low-0:Running low-1:Running p:Pending",
	} {
		s := newFixture(4).queue("root", "", nil).queue("q", "root", func(spec *scheduling.QueueSpec) { spec.Deserved = cpu(4) })
		s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(2)
		s.withDevices(map[string]schedulingv1beta1.DRAQuota{"lender": {Deserved: counts(deserved)}})
		for i := range 2 {
			name := fmt.Sprint("low-", i)
			s.job(name, "lender", running, nil, s.holding(i, 1, newPod(name, "n1", cpu(2))))
		}
		s.job("p", "q", inqueue, nil, newPod("p", "", cpu(4)))
		expectStatuses(t, s.act(t), want)
	}
}

// TestUpstreamsReclaimIsForOtherJobs: it also asks about pods with devices.
func TestUpstreamsReclaimIsForOtherJobs(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", func(spec *scheduling.QueueSpec) { spec.Deserved = cpu(4) })
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(4)}})
	s.job("without", "q", inqueue, nil, newPod("without", "", cpu(1))).job("with", "q", inqueue, nil, s.claimed(1, newPod("with", "", cpu(1))))
	ssn := s.open(t)
	pluginOf(ssn).upstreamEvicts = true
	for name, want := range map[string]bool{"without": true, "with": false} {
		if got := ssn.Preemptive(ssn.Queues["q"], taskOf(ssn, name)); got != want {
			t.Errorf("the queue reclaims for the pod %s devices: %t, want %t", name, got, want)
		}
	}
}
