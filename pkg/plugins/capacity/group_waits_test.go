// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// inGroup puts a pod into a group of its job.
func inGroup(pod *corev1.Pod, group string) *corev1.Pod {
	pod.Labels = map[string]string{"id": group}
	return pod
}

// ofGroups makes groups of the pods of the last job. A group needs so many pods, and the job so many groups.
func (s *fixture) ofGroups(size, least int32) {
	s.group().SubGroupPolicy = []schedulingv1.SubGroupPolicySpec{{Name: "each", SubGroupSize: &size, MinSubGroups: &least, MatchLabelKeys: []string{"id"}}}
}

// TestAGroupThatWaitsForLeavingPodsCounts, also if it is tried again for others of its pods, because one cannot be read: it needs one. What is free for its job is not
// for a later one.
func TestAGroupThatWaitsForLeavingPodsCounts(t *testing.T) {
	s := newFixture(4, 2, 1, 1, 1, 1, 1, 1).queue("root", "", nil).queue("q", "root", nil)
	s.job("old", "q", running, nil, deleted(newPod("leaving", "n1", cpu(4))))
	unread := inGroup(newPod("a1", "", cpu(1)), "a")
	unread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "host", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "id", Operator: "none"}}}}}
	s.job("gang", "q", inqueue, nil, inGroup(newPod("a0", "", cpu(4)), "a"), unread, inGroup(newPod("a2", "", cpu(5)), "a"), inGroup(newPod("b0", "", cpu(2)), "b"))
	s.group().MinMember = 2
	s.ofGroups(1, 2)
	s.job("later", "q", inqueue, nil, newPod("later", "", cpu(2)))
	expectStatuses(t, s.act(t), "a0:Pipelined a1:Pending a2:Pending b0:Allocated later:Pending leaving:Releasing")
}

// TestAJobStartsWithSeveralGroups, also on nodes without devices: its pods are not searched together there.
func TestAJobStartsWithSeveralGroups(t *testing.T) {
	s := newFixture(16, 4).queue("root", "", nil).queue("q", "root", nil)
	s.job("gang", "q", inqueue, nil, inGroup(newPod("a0", "", cpu(2)), "a"), inGroup(newPod("b0", "", cpu(2)), "b"), inGroup(newPod("c0", "", cpu(2)), "c"))
	s.group().MinMember = 3
	s.ofGroups(1, 3)
	expectStatuses(t, s.act(t), "a0:Binding b0:Binding c0:Binding")
}
