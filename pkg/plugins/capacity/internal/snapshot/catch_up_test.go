// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
)

// claimOf is an allocated claim that is reserved for a pod.
func claimOf(pod string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pod, UID: "claim"}, Status: resourceapi.ResourceClaimStatus{
		Allocation:  &resourceapi.AllocationResult{},
		ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: "p"}},
	}}
}

// TestMissingPod asks about pod p, which the API server has.
func TestMissingPod(t *testing.T) {
	const requests = "nvidia.com/gpu=1"
	without := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := podObject("p", "n1", requests)
		change(pod)
		return pod
	}
	unallocated, workload := claimOf("p"), claimOf("p")
	unallocated.Status.Allocation = nil
	workload.Status.ReservedFor[0].Resource = "workloads"
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		// known says that a job of the session has the pod.
		known bool
		// claim is the only claim. It is nil if the scheduler allocates no devices.
		claim *resourceapi.ResourceClaim
		// unread says that not all claims have been read.
		unread  bool
		missing bool
		// done says that the question is permanently answered.
		done bool
	}{
		{name: "a pod with cards", pod: podObject("p", "n1", requests), missing: true},
		{name: "that the session has", pod: podObject("p", "n1", requests), known: true, done: true},
		{name: "that waits", pod: podObject("p", "", requests), done: true},
		{name: "that waits for a node where others were evicted for it", pod: without(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.NominatedNodeName = "", "n1" }), missing: true},
		{name: "that the session has, with its nominated node", pod: without(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.NominatedNodeName = "", "n1" }), known: true, done: true},
		{name: "that waits for a node that another scheduler promised", pod: without(func(p *corev1.Pod) {
			p.Spec.SchedulerName, p.Spec.NodeName, p.Status.NominatedNodeName = corev1.DefaultSchedulerName, "", "n1"
		}), done: true},
		{name: "that was promised a node and is over", pod: without(func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status = "", corev1.PodStatus{NominatedNodeName: "n1", Phase: corev1.PodFailed}
		}), done: true},
		{name: "that is over", pod: without(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), done: true},
		{name: "that is not Volcano's", pod: without(func(p *corev1.Pod) { p.Annotations = nil }), done: true},
		{name: "a pod without cards", pod: podObject("p", "n1", "cpu=1"), done: true},
		{name: "a pod with a claim", pod: podObject("p", "n1", "cpu=1"), claim: claimOf("p"), missing: true},
		{name: "that the session has, too", pod: podObject("p", "n1", "cpu=1"), claim: claimOf("p"), known: true, done: true},
		{name: "that has no devices", pod: podObject("p", "n1", "cpu=1"), claim: unallocated, done: true},
		{name: "that is gone", pod: podObject("q", "n1", "cpu=1"), claim: claimOf("p"), done: true},
		{name: "whose place another pod took", pod: without(func(p *corev1.Pod) { p.UID, p.Spec = "another", corev1.PodSpec{} }), claim: claimOf("p"), done: true},
		{name: "with a claim, that is not Volcano's", pod: without(func(p *corev1.Pod) { p.Annotations = nil }), claim: claimOf("p"), done: true},
		{name: "a claim that something else than a pod uses", pod: podObject("p", "n1", "cpu=1"), claim: workload, done: true},
		{name: "claims that have not been read", pod: podObject("p", "n1", "cpu=1"), claim: claimOf("p"), unread: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("q", "root")
			clock := testclock.NewFakeClock(time.Unix(1000, 0))
			f.cache.StartCatchUp(clock)
			if err := f.pods.Add(c.pod); err != nil {
				t.Fatal(err)
			}
			if c.known {
				f.job("p", "q", "n1", requests)
			}
			var claims func() ([]*resourceapi.ResourceClaim, error)
			if c.claim != nil {
				claims = func() ([]*resourceapi.ResourceClaim, error) { return []*resourceapi.ResourceClaim{c.claim}, nil }
			}
			ask := func() bool { return f.cache.MissingPod(f.input.Jobs, f.input.Pods, claims, !c.unread) != nil }
			if ask() != c.missing || f.cache.catchUp.done != c.done {
				t.Errorf("a pod is missing: %t, want %t; for good: %t, want %t", ask(), c.missing, f.cache.catchUp.done, c.done)
			}
			clock.SetTime(clock.Now().Add(catchUpLimit))
			if ask() != c.missing {
				t.Errorf("after %s a pod is missing: %t, want %t", catchUpLimit, ask(), c.missing)
			}
			clock.SetTime(clock.Now().Add(time.Nanosecond))
			if ask() || !f.cache.catchUp.done {
				t.Error("a pod is missing for ever")
			}
		})
	}
}

func TestAPodThatComesLaterIsNotMissing(t *testing.T) {
	f := newFixture(t)
	f.cache.StartCatchUp(testclock.NewFakeClock(time.Unix(1000, 0)))
	for _, pod := range []*corev1.Pod{podObject("first", "", "nvidia.com/gpu=1"), podObject("later", "n1", "nvidia.com/gpu=1")} {
		if err := f.pods.Add(pod); err != nil {
			t.Fatal(err)
		}
		if missing := f.cache.MissingPod(f.input.Jobs, f.input.Pods, nil, false); missing != nil {
			t.Errorf("pod %s is missing", missing.Name)
		}
	}
}
