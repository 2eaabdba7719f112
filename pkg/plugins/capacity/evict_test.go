// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// act executes this plugin's actions in the shipped order.
func (s *fixture) act(t *testing.T) *framework.Session {
	t.Helper()
	ssn := s.open(t)
	for _, job := range ssn.Jobs {
		if job.PodGroup.Spec.PriorityClassName == "" && job.Priority == 0 {
			job.Priority = 1
		}
	}
	s.Run((&Plugins{cache: s.cache}).Actions())
	return ssn
}

// lending is a cluster whose queue lender holds the four devices of node n1, with four pods. Queues q and lender deserve two each.
func lending() *fixture {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	for i := range 4 {
		name := fmt.Sprint("low-", i)
		s.job(name, "lender", running, nil, s.holding(i, 1, newPod(name, "n1", cpu(1))))
	}
	return s
}

func TestAPodTakesBackADevice(t *testing.T) {
	s := lending()
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Releasing low-1:Running low-2:Running low-3:Running p:Pipelined")
}

func TestAPodTakesBackTwoDevices(t *testing.T) {
	s := lending()
	s.job("p", "q", inqueue, nil, s.claimed(2, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Releasing low-1:Releasing low-2:Running low-3:Running p:Pipelined")
}

func TestAGangTakesBackAllOrNothing(t *testing.T) {
	s := lending()
	s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))))
	expectStatuses(t, s.act(t), "g-0:Pipelined g-1:Pipelined low-0:Releasing low-1:Releasing low-2:Running low-3:Running")

	s = lending()
	s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))), s.claimed(1, newPod("g-2", "", cpu(1))))
	expectStatuses(t, s.act(t), "g-0:Pending g-1:Pending g-2:Pending low-0:Running low-1:Running low-2:Running low-3:Running")
}

func TestNobodyIsEvictedForMoreThanAQueueDeserves(t *testing.T) {
	s := lending()
	s.job("p", "q", inqueue, nil, s.claimed(3, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Running low-1:Running low-2:Running low-3:Running p:Pending")
}
