// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// borrowing has a gang that borrows four devices, two of which its lender deserves, and a pod that asks for some of these. The later
// pods of the gang are the younger ones, so they go first.
func borrowing(wanted int, change func(i int, pod *corev1.Pod)) *fixture {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.queue("borrower", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) }).stocked(4)
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
		c.turn()
		c.expectPlaces(want)
	}
}
