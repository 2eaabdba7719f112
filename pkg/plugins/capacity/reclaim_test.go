// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/conformance"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/problems"
)

// TestAPodWithoutDevicesReclaimsFromPodsWithDevices, unless their queue holds no more devices than it deserves. Upstream's action decides.
func TestAPodWithoutDevicesReclaimsFromPodsWithDevices(t *testing.T) {
	for deserved, want := range map[int64]string{
		0: "low-0:Releasing low-1:Releasing p:Pipelined",
		2: "low-0:Running low-1:Running p:Pending",
	} {
		s := newFixture(4).queue("root", "", nil).queue("q", "root", func(spec *scheduling.QueueSpec) { spec.Deserved = cpu(4) })
		s.queue("lender", "root", reclaimable).stocked(2)
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
	pluginOf(ssn).searches = elastic.NewSearches(nil, 1)
	for name, want := range map[string]bool{"without": true, "with": false} {
		if got := ssn.Preemptive(ssn.Queues["q"], taskOf(ssn, name)); got != want {
			t.Errorf("the queue reclaims for the pod %s devices: %t, want %t", name, got, want)
		}
	}
}

// TestATierAboveDecidesWithoutWhatQueuesDeserve: the event ReclaimIgnoresDeserved warns of this.
func TestATierAboveDecidesWithoutWhatQueuesDeserve(t *testing.T) {
	for _, c := range []struct {
		name  string
		above bool
		want  string
	}{
		{"in one tier, a queue keeps what it deserves", false, "asks:Pending held1:Running held2:Running"},
		{"a tier above takes it away", true, "asks:Pipelined held1:Running held2:Releasing"},
	} {
		s := newFixture(4).queue("root", "", nil).queue("owner", "root", func(q *scheduling.QueueSpec) { q.Deserved = cpu(4) })
		s.queue("asker", "root", func(q *scheduling.QueueSpec) { q.Deserved = cpu(4) })
		s.job("held", "owner", running, nil, newPod("held1", "n1", cpu(2)), newPod("held2", "n1", cpu(2)))
		s.PodGroups[0].Spec.MinMember = 1
		s.job("asks", "asker", inqueue, nil, newPod("asks", "", cpu(2)))
		s.Plugins = map[string]framework.PluginBuilder{conformance.PluginName: conformance.New}
		option := conf.PluginOption{Name: conformance.PluginName, EnabledReclaimable: ptr.To(true)}
		if c.above {
			s.above = []conf.PluginOption{option}
		} else {
			s.extra = []conf.PluginOption{option}
		}
		ssn := s.act(t)
		got := statuses(ssn)
		got = strings.Replace(got, "held1:Releasing held2:Running", "held1:Running held2:Releasing", 1) // either one
		if got != c.want {
			t.Errorf("%s: pods are %s, want %s", c.name, got, c.want)
		}
		framework.CloseSession(ssn)
	}
}

func TestAQueueThatDeservesSomethingIsToldThatNothingIsReclaimed(t *testing.T) {
	before := conf.EnabledActionMap
	t.Cleanup(func() { conf.EnabledActionMap = before })
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	s := newFixture(8).queue("root", "", nil).queue("q", "root", func(q *scheduling.QueueSpec) { q.Deserved = cpu(4) })
	ssn := s.open(t)
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Queue", "q", problems.ReclaimNotConfiguredReason, "The queue deserves <4> of cpu, but nothing is taken back from other queues")
	if reclaim.New().Name() != problems.ReclaimAction {
		t.Error("the action reclaim has another name")
	}
}

// movedFrom returns a pod that got its node in another queue than the current queue of its job.
func movedFrom(queue string, pod *corev1.Pod) *corev1.Pod {
	return chargerecord.OnPod(pod, "root/"+queue, "")
}

// twoQueues is a cluster in which queue lender deserves the devices of node n1, and queue q may have as many.
func twoQueues(devices int) *fixture {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("lender", "root", reclaimable).stocked(devices)
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
	s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	for i := range 4 {
		name := fmt.Sprint("low-", i)
		s.job(name, "q", running, nil, movedFrom("lender", s.holding(i, 1, newPod(name, "n1", cpu(1)))))
	}
	s.job("p", "q", inqueue, nil, s.claimed(2, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Releasing low-1:Releasing low-2:Running low-3:Running p:Pipelined")
}

// TestAJobTakesNothingFromItself: some of its pods got their nodes in another queue.
func TestAJobTakesNothingFromItself(t *testing.T) {
	s := besideLender(1, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}, "lender": {Deserved: counts(0)}})
	s.job("job", "q", running, nil, movedFrom("lender", s.holding(0, 1, newPod("old", "n1", cpu(1)))), s.claimed(1, newPod("new", "", cpu(1))))
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = 1
	expectStatuses(t, s.act(t), "new:Pending old:Running")
}
