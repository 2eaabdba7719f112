// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/settings"
)

// act executes this plugin's actions in the shipped order.
func (s *fixture) act(t *testing.T) *framework.Session {
	t.Helper()
	ssn := s.openByPriority(t)
	s.Run(append([]framework.Action{enqueue.New()}, (&Plugins{cache: s.cache}).Actions()...))
	return ssn
}

// openByPriority opens a session in which each job has the priority of its pods, as by a PriorityClass of its PodGroup.
func (s *fixture) openByPriority(t testing.TB) *framework.Session {
	t.Helper()
	ssn := s.open(t)
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			job.Priority = task.Priority
		}
	}
	return ssn
}

// reclaimable lets others take back from a queue.
func reclaimable(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }

// besideLender is a cluster with queues q and lender. Others may take back from lender. Node n1 has devices.
func besideLender(devices int, quotas map[string]schedulingv1beta1.DRAQuota) *fixture {
	return newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("lender", "root", reclaimable).stocked(devices).withDevices(quotas)
}

// lends adds n pods of queue lender that hold a device of node n1 each.
func (s *fixture) lends(n int) {
	for i := range n {
		name := fmt.Sprint("low-", i)
		s.job(name, "lender", running, nil, s.holding(i, 1, newPod(name, "n1", cpu(1))))
	}
}

// lending is a cluster whose queue lender holds the four devices of node n1 with four pods. Queues q and lender deserve two each.
func lending() *fixture {
	s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	s.lends(4)
	return s
}

// TestPodsTakeBackWhatTheirQueueDeserves, which is two devices.
func TestPodsTakeBackWhatTheirQueueDeserves(t *testing.T) {
	for _, c := range []struct {
		name string
		// asked has the number of devices that each pod of the job asks for.
		asked []int
		want  string
	}{
		{"a device", []int{1}, "g-0:Pipelined low-0:Releasing low-1:Running low-2:Running low-3:Running"},
		{"two devices", []int{2}, "g-0:Pipelined low-0:Releasing low-1:Releasing low-2:Running low-3:Running"},
		{"no more than it deserves", []int{3}, "g-0:Pending low-0:Running low-1:Running low-2:Running low-3:Running"},
		{"a gang, all of it", []int{1, 1}, "g-0:Pipelined g-1:Pipelined low-0:Releasing low-1:Releasing low-2:Running low-3:Running"},
		{"a gang, or nothing", []int{1, 1, 1}, "g-0:Pending g-1:Pending g-2:Pending low-0:Running low-1:Running low-2:Running low-3:Running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lending()
			var pods []*corev1.Pod
			for i, n := range c.asked {
				pods = append(pods, s.claimed(n, newPod(fmt.Sprint("g-", i), "", cpu(1))))
			}
			s.job("g", "q", inqueue, nil, pods...)
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

// crowd adds n pods without devices to a queue, each in a separate job.
func (s *fixture) crowd(n int, queue, node string) {
	for i := range n {
		name := fmt.Sprint("cpu-", i)
		s.job(name, queue, running, nil, newPod(name, node, cpu(1)))
	}
}

func TestPodsWithoutDevicesStay(t *testing.T) {
	s := lending()
	s.Nodes = append(s.Nodes, newFixture(2).Nodes[0].DeepCopy())
	s.Nodes[1].Name = "n2"
	s.crowd(2, "lender", "n2")
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "cpu-0:Running cpu-1:Running low-0:Releasing low-1:Running low-2:Running low-3:Running p:Pipelined")
}

func TestNobodyIsEvictedForDevicesThatNoNodeHas(t *testing.T) {
	s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(9)}, "lender": {Deserved: counts(0)}})
	s.lends(4)
	s.job("p", "q", inqueue, nil, s.claimed(5, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Running low-1:Running low-2:Running low-3:Running p:Pending")
}

// TestPriorityTakesDevices: the devices of the node are used up, but the quota is not.
func TestPriorityTakesDevices(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(8)}})
	for i := range 4 {
		name := fmt.Sprint("low-", i)
		s.job(name, "q", running, nil, withPriority(s.holding(i, 1, newPod(name, "n1", cpu(1))), int32(i)))
	}
	s.job("high", "q", inqueue, nil, withPriority(s.claimed(1, newPod("high", "", cpu(1))), 100))
	expectStatuses(t, s.act(t), "high:Pipelined low-0:Releasing low-1:Running low-2:Running low-3:Running")
}

func TestGangsGoAsAWholeOrStay(t *testing.T) {
	for _, whole := range []bool{false, true} {
		s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
		s.arguments = framework.Arguments{settings.ReclaimGangs: whole}
		for i := range 2 {
			name := fmt.Sprint("gang-", i)
			s.job(name, "lender", running, nil,
				s.holding(2*i, 1, newPod(name+"-0", "n1", cpu(1))), s.holding(2*i+1, 1, newPod(name+"-1", "n1", cpu(1))))
		}
		s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
		s.job("waits", "lender", inqueue, nil, newPod("waits-0", "", cpu(9)), newPod("waits-1", "", cpu(9)))
		want := "gang-0-0:Running gang-0-1:Running gang-1-0:Running gang-1-1:Running p:Pending waits-0:Pending waits-1:Pending"
		if whole {
			want = "gang-0-0:Releasing gang-0-1:Releasing gang-1-0:Running gang-1-1:Running p:Pipelined waits-0:Pending waits-1:Pending"
		}
		expectStatuses(t, s.act(t), want)
	}
}

// TestPodsThatShareAClaimGoTogether: the devices of a claim are free after its last user has gone.
func TestPodsThatShareAClaimGoTogether(t *testing.T) {
	s := besideLender(2, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}, "lender": {Deserved: counts(1)}})
	s.job("alone", "lender", running, nil, s.holding(0, 1, newPod("alone", "n1", cpu(1))))
	first := s.holding(1, 1, newPod("shares-0", "n1", cpu(1)))
	second := sharing(first, newPod("shares-1", "n1", cpu(1)))
	claim := s.ResourceClaims[len(s.ResourceClaims)-1]
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: second.Name, UID: second.UID})
	s.job("shares-0", "lender", running, nil, first).job("shares-1", "lender", running, nil, second)
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "alone:Releasing p:Pipelined shares-0:Running shares-1:Running")

	s.Pods[0].Annotations[scheduling.PodPreemptable] = "false"
	s.cache = newTestCache()
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}, "lender": {Deserved: counts(1)}})
	expectStatuses(t, s.act(t), "alone:Running p:Pipelined shares-0:Releasing shares-1:Releasing")
}

// TestAJobEntersByRight: the queue above is full. The job of a queue that deserves devices is still admitted, and takes them back.
func TestAJobEntersByRight(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("org", "root", nil).queue("q", "org", nil).queue("lender", "org", reclaimable).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"org": {Capability: counts(4)}, "q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	s.lends(4)
	s.job("three", "q", pending, cpu(1), s.claimed(3, newPod("three", "", cpu(1)))).job("two", "q", pending, cpu(1), s.claimed(2, newPod("two", "", cpu(1))))
	conf.EnabledActionMap = map[string]bool{"reclaim": true}
	t.Cleanup(func() { conf.EnabledActionMap = nil })
	ssn := s.act(t)
	expectStatuses(t, ssn, "low-0:Releasing low-1:Releasing low-2:Running low-3:Running three:Pending two:Pipelined")
	if phase := phaseOf(ssn, "three"); phase != string(pending) {
		t.Errorf("the job that asks for more than the queue deserves is %s", phase)
	}
}

// TestPodsOfAGangThatDiffer: the pods belong to no task of a Job that would make them alike.
func TestPodsOfAGangThatDiffer(t *testing.T) {
	s := lending()
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(3)}, "lender": {Deserved: counts(1)}})
	one, two := s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(2, newPod("g-1", "", cpu(1)))
	selects := newPod("g-2", "", cpu(1))
	selects.Spec.NodeSelector = map[string]string{"on": "n2"}
	s.Nodes = append(s.Nodes, newFixture(2).Nodes[0].DeepCopy())
	s.Nodes[1].Name, s.Nodes[1].Labels = "n2", map[string]string{"on": "n2"}
	s.job("g", "q", inqueue, nil, one, two, selects)
	expectStatuses(t, s.act(t), "g-0:Pipelined g-1:Pipelined g-2:Pipelined low-0:Releasing low-1:Releasing low-2:Releasing low-3:Running")
}

// TestDevicesThatCountAsCardsAreTakenBack: the class of the devices names a card, and the queue deserves two of it. Its pods request no
// card.
func TestDevicesThatCountAsCardsAreTakenBack(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("lender", "root", reclaimable).stocked(4)
	s.withElasticCards(map[string]cardLimits{"q": {deserved: `{"H100": 2}`}, "lender": {deserved: `{"H100": 2}`}})
	s.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: h100, Annotations: map[string]string{card.NameAnnotation: "H100"}}}}
	s.lends(4)
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	expectStatuses(t, s.act(t), "low-0:Releasing low-1:Running low-2:Running low-3:Running p:Pipelined")
}

// TestAllDevicesOfANodeAreMoreThanAQueueDeserves: the number of devices of the claim is known only when they are picked.
func TestAllDevicesOfANodeAreMoreThanAQueueDeserves(t *testing.T) {
	for deserved, want := range map[int64]string{
		2: "low-0:Running low-1:Running low-2:Running low-3:Running p:Pending",
		4: "low-0:Releasing low-1:Releasing low-2:Releasing low-3:Releasing p:Pipelined",
	} {
		s := lending()
		s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(deserved)}, "lender": {Deserved: counts(0)}})
		s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
		exactly := s.ResourceClaims[len(s.ResourceClaims)-1].Spec.Devices.Requests[0].Exactly
		exactly.AllocationMode, exactly.Count = resourcev1.DeviceAllocationModeAll, 0
		expectStatuses(t, s.act(t), want)
	}
}

// TestSharedClaimsOfSeveralPodsGoTogether: pod b shares one claim with pod a, and another claim with pod c.
func TestSharedClaimsOfSeveralPodsGoTogether(t *testing.T) {
	for range 8 {
		s := besideLender(2, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}})
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
