// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/conf"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// movedFrom returns a pod that got its node in another queue than the current queue of its job.
func movedFrom(queue string, pod *corev1.Pod) *corev1.Pod {
	return chargerecord.OnPod(pod, "root/"+queue, "")
}

// twoQueues is a cluster in which queue lender deserves the devices of node n1, and queue q may have as many.
func twoQueues(devices int) *fixture {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(devices)
	return s.withDevices(map[string]schedulingv1beta1.DRAQuota{
		"q": {Capability: counts(8), Deserved: counts(0)}, "lender": {Capability: counts(int64(devices)), Deserved: counts(int64(devices))},
	})
}

// TestPriorityTakesNothingThatAnotherQueueIsChargedFor: the job of lower priority is now in the same queue, but its pod holds what another queue
// deserves.
func TestPriorityTakesNothingThatAnotherQueueIsChargedFor(t *testing.T) {
	s := twoQueues(1)
	s.job("low", "q", running, nil, withPriority(movedFrom("lender", s.holding(0, 1, newPod("low", "n1", cpu(1)))), 0))
	s.job("high", "q", inqueue, nil, withPriority(s.claimed(1, newPod("high", "", cpu(1))), 100))
	expectStatuses(t, s.act(t), "high:Pending low:Running")
}

func TestPriorityTakesWhatItsQueueIsChargedFor(t *testing.T) {
	s := twoQueues(1)
	s.job("low", "q", running, nil, withPriority(movedFrom("lender", s.holding(0, 1, newPod("low", "n1", cpu(1)))), 0))
	s.job("high", "lender", pending, cpu(1), withPriority(s.claimed(1, newPod("high", "", cpu(1))), 100))
	conf.EnabledActionMap = map[string]bool{"preempt": true}
	t.Cleanup(func() { conf.EnabledActionMap = nil })
	expectStatuses(t, s.act(t), "high:Pipelined low:Releasing")
}

// TestWhatAQueueHasBorrowedIsTakenBackWhereverItsJobsAreNow: all four jobs are in the queue that takes back.
func TestWhatAQueueHasBorrowedIsTakenBackWhereverItsJobsAreNow(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	for i := range 4 {
		name := fmt.Sprint("low-", i)
		s.job(name, "q", running, nil, movedFrom("lender", s.holding(i, 1, newPod(name, "n1", cpu(1)))))
	}
	s.job("p", "q", inqueue, nil, s.claimed(2, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Releasing low-1:Releasing low-2:Running low-3:Running p:Pipelined")
}

// TestAJobTakesNothingFromItself: some of its pods got their nodes in another queue.
func TestAJobTakesNothingFromItself(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(1)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}, "lender": {Deserved: counts(0)}})
	s.job("job", "q", running, nil, movedFrom("lender", s.holding(0, 1, newPod("old", "n1", cpu(1)))), s.claimed(1, newPod("new", "", cpu(1))))
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = 1
	expectStatuses(t, s.act(t), "new:Pending old:Running")
}
