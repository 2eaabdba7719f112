// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/settings"
)

// TestNoNodeIsPromisedMoreThanItHas: the first pod of the gang needs its own victim, although the victim of the second pod would
// suffice for the quota.
func TestNoNodeIsPromisedMoreThanItHas(t *testing.T) {
	s := newFixture(3, 4).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{}).stocked(2)
	s.job("small", "q", running, nil, s.holding(0, 1, newPod("small", "n1", cpu(2))))
	s.job("large", "q", running, nil, newPod("large", "n2", cpu(3)))
	s.job("gang", "q", inqueue, nil,
		withPriority(s.claimed(1, newPod("gang-0", "", cpu(2))), 9), withPriority(newPod("gang-1", "", cpu(2)), 9))
	expectStatuses(t, s.act(t), "gang-0:Pipelined gang-1:Pipelined large:Releasing small:Releasing")
}

// TestPodsThatNeedMoreGoFirstIfTheirPlacesAreTaken: if gang-1 goes to node n1, which has room, gang-2 has no place.
func TestPodsThatNeedMoreGoFirstIfTheirPlacesAreTaken(t *testing.T) {
	s := newFixture(4, 3).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{}).stocked(1)
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
		s := besideLender(3, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(deserved)}})
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
		s.budget = disruptionBudget(allowed, 4, nil)
		expectStatuses(t, s.act(t), want)
	}
}

// TestAVictimIsToldWhatIsTakenBack: the first pod of the gang finds a free device, and one of two victims may stay in the end.
func TestAVictimIsToldWhatIsTakenBack(t *testing.T) {
	s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(3)}})
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
	s := newFixture(4).queue("root", "", nil).queue("q", "root", nil).queue("lender", "root", reclaimable).stocked(2)
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

// borrowing has a gang that borrows four devices, two of which its lender deserves, and a pod that asks for some of these. The later
// pods of the gang are the younger ones, so they go first.
func borrowing(wanted int, change func(i int, pod *corev1.Pod)) *fixture {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("borrower", "root", reclaimable).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}, "borrower": {Deserved: counts(2)}})
	s.job("p", "q", inqueue, nil, s.claimed(wanted, newPod("p", "", cpu(1))))
	var pods []*corev1.Pod
	for i := range 4 {
		pod := newPod(fmt.Sprint("g-", i), "n1", cpu(1))
		pod.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
		change(i, pod)
		pods = append(pods, s.holding(i, 1, pod))
	}
	s.job("g", "borrower", running, nil, pods...)
	s.group().MinMember = 2
	return s
}

func TestAGangKeepsTheMinimumOfItsTasks(t *testing.T) {
	for name, c := range map[string]struct {
		minimum map[string]int32
		want    string
	}{
		"none":                            {nil, "g-0:Running g-1:Running g-2:Running g-3:Releasing p:Pipelined"},
		"a master and a worker":           {map[string]int32{"master": 1, "worker": 1}, "g-0:Running g-1:Running g-2:Releasing g-3:Running p:Pipelined"},
		"more than the minimum of all":    {map[string]int32{"master": 1, "worker": 3}, "g-0:Running g-1:Running g-2:Running g-3:Releasing p:Pipelined"},
		"more masters than there are now": {map[string]int32{"master": 2}, "g-0:Running g-1:Running g-2:Running g-3:Running p:Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			s := borrowing(1, func(i int, pod *corev1.Pod) {
				pod.Annotations[v1alpha1.TaskSpecKey] = map[bool]string{true: "master", false: "worker"}[i == 3]
			})
			s.group().MinTaskMember = c.minimum
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

func TestAGangKeepsItsWholeSubgroups(t *testing.T) {
	for least, want := range map[int32]string{
		0: "g-0:Running g-1:Running g-2:Releasing g-3:Releasing p:Pipelined",
		1: "g-0:Running g-1:Releasing g-2:Running g-3:Releasing p:Pipelined",
		2: "g-0:Running g-1:Running g-2:Running g-3:Running p:Pending",
	} {
		t.Run(fmt.Sprint(least), func(t *testing.T) {
			s := borrowing(2, func(i int, pod *corev1.Pod) { pod.Labels = map[string]string{"part": fmt.Sprint(i % 2)} })
			s.group().SubGroupPolicy = []scheduling.SubGroupPolicySpec{
				{Name: "parts", SubGroupSize: ptr.To(int32(2)), MinSubGroups: &least, MatchLabelKeys: []string{"part"}},
			}
			expectStatuses(t, s.act(t), want)
		})
	}
}

// TestAGangOfOneSubgroupKeepsIt: it is a gang although its minimum is one pod.
func TestAGangOfOneSubgroupKeepsIt(t *testing.T) {
	s := borrowing(1, func(_ int, pod *corev1.Pod) { pod.Labels = map[string]string{"part": "all"} })
	s.group().MinMember = 1
	s.group().SubGroupPolicy = []scheduling.SubGroupPolicySpec{
		{Name: "parts", SubGroupSize: ptr.To(int32(4)), MinSubGroups: ptr.To(int32(1)), MatchLabelKeys: []string{"part"}},
	}
	expectStatuses(t, s.act(t), "g-0:Running g-1:Running g-2:Running g-3:Running p:Pending")
}

// TestNobodyIsEvictedForAJobThatIsNotAdmittedAgain: the only pod of a job was replaced, and its PodGroup asks for more now than its queue may have. Volcano
// makes the job ask its queue again when the session closes.
func TestNobodyIsEvictedForAJobThatIsNotAdmittedAgain(t *testing.T) {
	for cores, want := range map[int]string{5: "low@n1 new@", 4: "new@n1"} {
		c := newCalmCluster(t, "h100")
		c.queue("q", "root", deserve("h100", 1), func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cpu(4) })
		c.queue("lender", "root", deserve("h100", 0), nil)
		c.node("n1", 8, "h100")
		c.single("low", "lender", "h100")
		c.turn()
		c.group("g", "q", 1, func(group *scheduling.PodGroup) {
			group.Status.Phase, group.Spec.MinResources = scheduling.PodGroupRunning, ptr.To(cpu(cores))
		})
		c.pod("new", "g", nil, "h100")
		for range 4 {
			c.turn()
			c.leave()
		}
		c.expectTurn(want)
	}
}

// TestAGangOfSeveralRolesTakesBackWhatIsOnOneOfManyNodes: all nodes are looked at for each role.
func TestAGangOfSeveralRolesTakesBackWhatIsOnOneOfManyNodes(t *testing.T) {
	const nodes, roles = 5000, 8
	s := newFixture().queue("root", "", nil).queue("q", "root", nil).queue("r", "root", reclaimable)
	for i := range nodes {
		s.Nodes = append(s.Nodes, newFixture(64).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
	}
	eight := schedulingv1beta1.DeviceQuotas{"gpu": {Count: 8}}
	s.withModels(settings.AccountRequested, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: eight}, "r": {Deserved: schedulingv1beta1.DeviceQuotas{"gpu": {Count: 0}}}},
		map[string]string{"n0": "d0 d1 d2 d3 d4 d5 d6 d7"})
	s.busy(1, 8)
	var pods []*corev1.Pod
	for i := range roles {
		p := s.asking("gpu", "", newPod(fmt.Sprint("p", i), "", cpu(1)))
		p.Labels = map[string]string{"kind": fmt.Sprint(i)}
		pods = append(pods, p)
	}
	s.job("gang", "q", inqueue, nil, pods...)
	ssn := s.act(t)
	for i := range roles {
		if got := taskOf(ssn, fmt.Sprint("p", i)).Status.String(); got != "Pipelined" {
			t.Errorf("pod p%d of %d roles is %s", i, roles, got)
			break
		}
	}
}

// TestWithoutGangEachPodTakesBack: the plugin gang has no say about pipelined jobs, so that each pod counts for itself.
func TestWithoutGangEachPodTakesBack(t *testing.T) {
	s := besideLender(2, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}})
	s.job("low", "lender", running, nil, s.holding(0, 2, newPod("low", "n1", cpu(1))))
	s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", cpu(1))), s.claimed(1, newPod("g-1", "", cpu(1))))
	tiers := s.tiers()
	tiers[0].Plugins[1].EnabledJobPipelined = ptr.To(false)
	ssn := s.RegisterSession(tiers, nil)
	t.Cleanup(framework.CleanupPluginBuilders)
	s.Run(append([]framework.Action{enqueue.New()}, (&Plugins{cache: s.cache}).Actions()...))
	if got := taskOf(ssn, "low").Status.String(); got != "Releasing" {
		t.Errorf("low is %s", got)
	}
}
