// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// deleted marks a pod as being deleted.
func deleted(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = ptr.To(metav1.Now())
	return pod
}

func limited(list corev1.ResourceList) func(*schedulingv1beta1.QueueSpec) {
	return func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = list }
}

// TestAPodThatIsDeletedKeepsItsResources: it runs for its terminationGracePeriodSeconds, which its owner chooses.
func TestAPodThatIsDeletedKeepsItsResources(t *testing.T) {
	for name, requests := range map[string]func(int) corev1.ResourceList{"cpu": cpu, "nvidia.com/gpu": gpu} {
		for limit, want := range map[int]string{3: "leaving:Releasing next:Pending", 4: "leaving:Releasing next:Binding"} {
			s := newFixture(8).queue("root", "", nil).queue("parent", "root", limited(requests(limit))).queue("a", "parent", nil).queue("b", "parent", nil)
			s.job("i", "a", running, nil, deleted(newPod("leaving", "n1", requests(2)))).job("j", "b", inqueue, nil, newPod("next", "", requests(2)))
			ssn := s.act(t)
			expectStatuses(t, ssn, want)
			if kept := pluginOf(ssn).snapshot.Retains(); !kept {
				t.Errorf("what the pod holds of %s does not count", name)
			}
		}
	}
}

// TestADeletedPodCountsAgainstTheCapabilityOfRoot: this capability replaces the total of the nodes.
func TestADeletedPodCountsAgainstTheCapabilityOfRoot(t *testing.T) {
	for name, requests := range map[string]func(int) corev1.ResourceList{"cpu": cpu, "nvidia.com/gpu": gpu} {
		for limit, want := range map[int]string{3: "leaving:Releasing next:Pending", 4: "leaving:Releasing next:Binding"} {
			s := newFixture(8).queue("root", "", limited(requests(limit))).queue("q", "root", nil)
			s.job("i", "q", running, nil, deleted(newPod("leaving", "n1", requests(2)))).job("j", "q", inqueue, nil, newPod("next", "", requests(2)))
			t.Run(name, func(t *testing.T) { expectStatuses(t, s.act(t), want) })
		}
	}
}

// TestAPodWithoutRequestsAwaitsADeletedOne: the action backfill binds the pod, and ignores whether its allocation failed.
func TestAPodWithoutRequestsAwaitsADeletedOne(t *testing.T) {
	for limit, want := range map[int64]string{1: "leaving:Releasing next:Pending", 2: "leaving:Releasing next:Binding"} {
		pods := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(limit, resource.DecimalSI)}
		s := newFixture(8).queue("root", "", nil).queue("q", "root", limited(pods))
		s.job("i", "q", running, nil, deleted(newPod("leaving", "n1", nil))).job("j", "q", inqueue, nil, newPod("next", "", nil))
		expectStatuses(t, s.act(t), want)
	}
}

// TestNobodyIsEvictedForAPodThatAwaitsADeletedOne: its queue has room after the deleted pod has ended. Before that, it takes nothing back.
func TestNobodyIsEvictedForAPodThatAwaitsADeletedOne(t *testing.T) {
	for limit, want := range map[int]string{4: "leaving:Releasing low:Running next:Pending", 5: "leaving:Releasing low:Releasing next:Pipelined"} {
		s := newFixture(8, 2).queue("root", "", nil).queue("lender", "root", reclaimable)
		s.queue("q", "root", func(spec *schedulingv1beta1.QueueSpec) { spec.Capability, spec.Deserved = cpu(limit), cpu(4) })
		s.job("i", "q", running, nil, deleted(newPod("leaving", "n1", cpu(2)))).job("low", "lender", running, nil, newPod("low", "n1", cpu(6)))
		s.job("j", "q", inqueue, nil, newPod("next", "", cpu(3)))
		expectStatuses(t, s.act(t), want)
	}
}

// TestAPodWithoutANodeHoldsNothingWhenItIsDeleted: a finalizer may keep it.
func TestAPodWithoutANodeHoldsNothingWhenItIsDeleted(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", limited(cpu(2)))
	s.job("i", "q", running, nil, deleted(newPod("kept", "", cpu(2)))).job("j", "q", inqueue, nil, newPod("next", "", cpu(2)))
	expectStatuses(t, s.act(t), "kept:Releasing next:Binding")
}

// besideLeaving is a cluster whose queues ours and theirs may have a number of cores together, some of which ours deserves. Of theirs, a pod
// stays, and another one is being deleted.
func besideLeaving(limit, deserved, stays, leaving int) *fixture {
	s := newFixture(12).queue("root", "", nil).queue("org", "root", limited(cpu(limit)))
	s.queue("ours", "org", func(spec *schedulingv1beta1.QueueSpec) { spec.Deserved = cpu(deserved) }).queue("theirs", "org", nil)
	return s.job("i", "theirs", running, nil, newPod("stays", "n1", cpu(stays)), deleted(newPod("leaving", "n1", cpu(leaving))))
}

// ofFallingPriority gives each pod a lower priority than the one before.
func ofFallingPriority(pods ...*corev1.Pod) []*corev1.Pod {
	for i, pod := range pods {
		pod.Spec.Priority = ptr.To(int32(10 - i))
	}
	return pods
}

// TestWhatADeletedPodLeavesGoesToTheFirstInLine: otherwise, the queue that had to give it back would get it again, bit by bit, forever.
func TestWhatADeletedPodLeavesGoesToTheFirstInLine(t *testing.T) {
	for limit, want := range map[int]string{
		8:  "again:Pending big:Pending leaving:Releasing one:Pending stays:Running",
		9:  "again:Pending big:Pending leaving:Releasing one:Binding stays:Running", // in addition to what is promised, and what still runs
		10: "again:Pending big:Binding leaving:Releasing one:Pending stays:Running",
	} {
		s := besideLeaving(limit, 4, 4, 2)
		s.job("j", "ours", inqueue, nil, newPod("big", "", cpu(4)))
		s.job("k", "theirs", inqueue, nil, newPod("again", "", cpu(2))).job("l", "theirs", inqueue, nil, newPod("one", "", cpu(1)))
		expectStatuses(t, s.act(t), want)
	}
}

// TestAGangIsPromisedItsMinimum of what a deleted pod leaves.
func TestAGangIsPromisedItsMinimum(t *testing.T) {
	for limit, want := range map[int]string{
		8: "again:Pending big1:Pending big2:Pending leaving:Releasing stays:Running",
		9: "again:Binding big1:Pending big2:Pending leaving:Releasing stays:Running",
		// For pods beyond the minimum, nothing is kept.
		10: "again:Pending big1:Binding big2:Binding leaving:Releasing stays:Running",
	} {
		s := besideLeaving(limit, 4, 4, 2)
		s.job("j", "ours", inqueue, nil, newPod("big1", "", cpu(2)), newPod("big2", "", cpu(2)))
		s.job("k", "theirs", inqueue, nil, newPod("again", "", cpu(1)))
		expectStatuses(t, s.act(t), want)
	}
}

// TestAGangIsPromisedItsPodsOfHighestPriority: what is promised leaves room for another job, which the third pod would take.
func TestAGangIsPromisedItsPodsOfHighestPriority(t *testing.T) {
	for range 5 { // pods are in a map
		s := besideLeaving(8, 8, 2, 5)
		gang := ofFallingPriority(newPod("first", "", cpu(2)), newPod("second", "", cpu(2)), newPod("third", "", cpu(4)))
		s.job("j", "ours", inqueue, nil, gang...).PodGroups[1].Spec.MinMember = 2
		s.job("k", "theirs", inqueue, nil, newPod("again", "", cpu(1)))
		expectStatuses(t, s.act(t), "again:Binding first:Pending leaving:Releasing second:Pending stays:Running third:Pending")
	}
}

// TestAGangIsPromisedPodsThatCanStartIt: pods that cannot run now do not take the place of those that the gang starts with.
func TestAGangIsPromisedPodsThatCanStartIt(t *testing.T) {
	for name, second := range map[string]*corev1.Pod{
		"one is too large": newPod("second", "", cpu(9)),
		"one is gated":     gated(newPod("second", "", cpu(2))),
	} {
		t.Run(name, func(t *testing.T) {
			s := besideLeaving(6, 6, 2, 3)
			gang := ofFallingPriority(newPod("first", "", cpu(2)), second, newPod("third", "", cpu(2)))
			s.job("j", "ours", inqueue, nil, gang...).PodGroups[1].Spec.MinMember = 2
			s.job("k", "theirs", inqueue, nil, newPod("again", "", cpu(1)))
			expectStatuses(t, s.act(t), "again:Pending first:Pending leaving:Releasing second:Pending stays:Running third:Pending")
		})
	}
}

func gated(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
	return pod
}

// TestAGangIsPromisedNothingIfItsMinimumHasNoRoom: it cannot start even after the deleted pod has ended.
func TestAGangIsPromisedNothingIfItsMinimumHasNoRoom(t *testing.T) {
	for limit, want := range map[int]string{
		8: "big1:Pipelined big2:Pending big3:Pending leaving:Releasing small:Binding stays:Running",
		9: "big1:Pending big2:Pending big3:Pending leaving:Releasing small:Pending stays:Running",
	} {
		s := besideLeaving(limit, 4, 3, 2)
		s.job("j", "ours", inqueue, nil, newPod("big1", "", cpu(2)), newPod("big2", "", cpu(2)), newPod("big3", "", cpu(2)))
		s.job("k", "theirs", inqueue, nil, newPod("small", "", cpu(3)))
		expectStatuses(t, s.act(t), want)
	}
}
