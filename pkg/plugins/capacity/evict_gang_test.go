// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// TestNoNodeIsPromisedMoreThanItHas: the first pod of the gang needs its own victim, although the victim of the second pod would
// suffice for the quota.
func TestNoNodeIsPromisedMoreThanItHas(t *testing.T) {
	s := newFixture(3, 4).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{})
	s.stocked(2)
	s.job("small", "q", running, nil, s.holding(0, 1, newPod("small", "n1", cpu(2))))
	s.job("large", "q", running, nil, newPod("large", "n2", cpu(3)))
	s.job("gang", "q", inqueue, nil,
		withPriority(s.claimed(1, newPod("gang-0", "", cpu(2))), 9), withPriority(newPod("gang-1", "", cpu(2)), 9))
	expectStatuses(t, s.act(t), "gang-0:Pipelined gang-1:Pipelined large:Releasing small:Releasing")
}

// TestPodsThatNeedMoreGoFirstIfTheirPlacesAreTaken: if gang-1 goes to node n1, which has room, gang-2 has no place.
func TestPodsThatNeedMoreGoFirstIfTheirPlacesAreTaken(t *testing.T) {
	s := newFixture(4, 3).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{})
	s.stocked(1)
	s.job("low", "q", running, nil, newPod("low", "n2", cpu(1)))
	s.job("keep", "q", running, nil, withPriority(newPod("keep", "n2", cpu(2)), 9))
	s.job("gang", "q", inqueue, nil, withPriority(s.claimed(1, newPod("gang-0", "", cpu(2))), 9),
		withPriority(newPod("gang-1", "", cpu(1)), 9), withPriority(newPod("gang-2", "", cpu(2)), 9))
	expectStatuses(t, s.act(t), "gang-0:Pipelined gang-1:Pipelined gang-2:Pipelined keep:Running low:Releasing")
}

// TestAGangTakesBackNoMoreThanItsQueueDeserves: one device is free, and the victim has two. The gang needs all three.
func TestAGangTakesBackNoMoreThanItsQueueDeserves(t *testing.T) {
	for deserved, want := range map[int64]string{
		2: "g-0:Pending g-1:Pending g-2:Pending low:Running",
		3: "g-0:Pipelined g-1:Pipelined g-2:Pipelined low:Releasing",
	} {
		s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
		s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(3)
		s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(deserved)}})
		s.job("low", "lender", running, nil, s.holding(0, 2, newPod("low", "n1", cpu(1))))
		s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))), s.claimed(1, newPod("g-2", "", cpu(1))))
		expectStatuses(t, s.act(t), want)
	}
}

// TestAGangOfClaimsAloneTakesBackAllOrNothing: to Volcano, pods without requests are never missing.
func TestAGangOfClaimsAloneTakesBackAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		minimum int32
		want    string
	}{
		"its minimum is more than the queue deserves": {3, "g-0:Pending g-1:Pending g-2:Pending low-0:Running low-1:Running low-2:Running low-3:Running"},
		"its minimum is what the queue deserves":      {2, "g-0:Pipelined g-1:Pipelined g-2:Pending low-0:Releasing low-1:Releasing low-2:Running low-3:Running"},
	} {
		t.Run(name, func(t *testing.T) {
			s := lending()
			s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", nil)), s.claimed(1, newPod("g-1", "", nil)), s.claimed(1, newPod("g-2", "", nil)))
			s.group().MinMember = c.minimum
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

// group returns the spec of the newest PodGroup.
func (s *fixture) group() *scheduling.PodGroupSpec { return &s.PodGroups[len(s.PodGroups)-1].Spec }

// TestBudgetsHoldForAllVictimsOfAGang: each pod of the gang needs one victim.
func TestBudgetsHoldForAllVictimsOfAGang(t *testing.T) {
	for allowed, want := range map[int32]string{
		1: "g-0:Pending g-1:Pending low-0:Running low-1:Running low-2:Running low-3:Running",
		2: "g-0:Pipelined g-1:Pipelined low-0:Releasing low-1:Releasing low-2:Running low-3:Running",
	} {
		s := lending()
		s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))))
		s.budget = &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "budget", UID: "budget"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: 4, DesiredHealthy: 4 - allowed},
		}
		expectStatuses(t, s.act(t), want)
	}
}

// TestAVictimIsToldWhatIsTakenBack: the first pod of the gang finds a free device, and one of two victims may stay in the end.
func TestAVictimIsToldWhatIsTakenBack(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(3)}})
	s.job("a", "lender", running, nil, s.holding(0, 1, newPod("a", "n1", cpu(1))))
	s.job("b", "lender", running, nil, s.holding(1, 2, newPod("b", "n1", cpu(1))))
	s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))), s.claimed(1, newPod("g-2", "", cpu(1))))
	ssn := s.open(t)
	plan := pluginOf(ssn).elastic.Solver().Plan(eviction.Reclaim, ssn.Jobs["ns/g"])
	if plan == nil || len(plan.Victims) != 1 {
		t.Fatalf("the plan is %+v, want one with one victim", plan)
	}
	if victim := plan.Victims[0]; victim.Name != "b" || victim.Dimension.Name != h100 {
		t.Errorf("%s is evicted for %q", victim.Name, victim.Dimension.Name)
	}
}

// TestAPlanInVainLeavesWhyPodsWait: without the victim, there is room for one pod of the gang.
func TestAPlanInVainLeavesWhyPodsWait(t *testing.T) {
	s := newFixture(4).queue("root", "", nil).queue("q", "root", nil)
	s.queue("lender", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"root": {Capability: counts(2)}, "q": {Deserved: counts(2)}})
	s.job("low", "lender", running, nil, s.holding(0, 2, newPod("low", "n1", cpu(1))))
	s.job("gang", "q", inqueue, nil, s.claimed(1, newPod("gang-0", "", cpu(3))), s.claimed(1, newPod("gang-1", "", cpu(3))))
	ssn := s.act(t)
	expectStatuses(t, ssn, "gang-0:Pending gang-1:Pending low:Running")
	p := pluginOf(ssn)
	for _, name := range []string{"gang-0", "gang-1"} {
		if why := p.placements.Refusal(taskOf(ssn, name)); why == nil || !strings.Contains(why.Message(), "total would be <3>, but capability is <2>") {
			t.Errorf("pod %s waits because of %v", name, why)
		}
	}
}
