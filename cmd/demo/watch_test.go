// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func TestRows(t *testing.T) {
	a := act{jobs: []job{{"first", 6}, {"second", 4}}, devices: 8}
	running := tally{submitted: true, running: 6}
	waiting := tally{submitted: true, waiting: 4, why: "no quota"}
	const first, second = "   2.5s  first          6        0     0   6 of 8 H100", "   2.5s  second         0        4     0   "
	for _, c := range []struct {
		name        string
		before, now state
		want        []string
	}{
		{"no job is submitted", state{}, state{jobs: []tally{{}, {}}, devices: []int{1}}, nil},
		{"only the first job is submitted", state{}, state{jobs: []tally{running, {}}, devices: []int{6}}, []string{first}},
		{"both jobs are submitted", state{}, state{jobs: []tally{running, waiting}, devices: []int{6}}, []string{first, second, "         second waits: no quota"}},
		{"the reason is the same as before", state{jobs: []tally{{submitted: true, waiting: 6}, waiting}}, state{jobs: []tally{running, waiting}, devices: []int{6}}, []string{first, second}},
		{"nothing has changed", state{jobs: []tally{running, {}}}, state{jobs: []tally{running, {}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, row := range a.rows(2500*time.Millisecond, c.before, c.now, nil) {
				got = append(got, row.text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTally(t *testing.T) {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{batchv1alpha1.JobNameKey: "second"}}
	}
	pods := []corev1.Pod{
		{ObjectMeta: named("second-0"), Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		{ObjectMeta: named("second-1"), Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
		{ObjectMeta: named("second-2"), Status: corev1.PodStatus{Phase: corev1.PodPending}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
	}
	events := []corev1.Event{{InvolvedObject: corev1.ObjectReference{Name: "second-uid"}, Message: "no quota"}, {InvolvedObject: corev1.ObjectReference{Name: "first-uid"}, Message: "other"}}
	second := job{"second", 4}
	if got := second.tally([]batchv1alpha1.Job{{ObjectMeta: named("first")}}, pods, events); got != (tally{}) {
		t.Errorf("before the job is submitted: %+v", got)
	}
	want := tally{submitted: true, running: 1, waiting: 2, done: 1, why: "no quota"}
	if got := second.tally([]batchv1alpha1.Job{{ObjectMeta: named("second")}}, pods, events); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestInUse(t *testing.T) {
	a := act{devices: 8}
	if got, want := a.inUse(state{devices: []int{5, 3}}, []member{{name: "member1"}, {name: "member2"}}), "8 of 8 H100 (5 in member1, 3 in member2)"; got != want {
		t.Errorf("two clusters: got %q, want %q", got, want)
	}
	a.cards = 4
	if got, want := a.inUse(state{devices: []int{2}, cards: 1}, []member{{}}), "2 of 8 H100, 1 of 4 H800"; got != want {
		t.Errorf("one cluster: got %q, want %q", got, want)
	}
	pool := act{cards: 6, pool: []string{"pool-0", "pool-1", "pool-2"}}
	const want = "6 of 6 H800 (pool-0: 4 from the device plugin; pool-1: 2 from DRA; pool-2: no card)"
	if got := pool.inUse(state{cards: 6, pool: []served{{plugin: 4}, {dra: 2}, {}}}, []member{{}}); got != want {
		t.Errorf("a pool: got %q, want %q", got, want)
	}
}

func TestDevicesOf(t *testing.T) {
	claim := func(pod types.UID, devices int) resourcev1.ResourceClaim {
		c := resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: pod, Controller: ptr.To(true)}}}}
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: make([]resourcev1.DeviceRequestAllocationResult, devices)}}
		return c
	}
	waiting := claim("runs", 0)
	waiting.Status.Allocation = nil
	pods := []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{UID: "runs"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		{ObjectMeta: metav1.ObjectMeta{UID: "ended"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
	}
	if got := devicesOf([]resourcev1.ResourceClaim{claim("runs", 2), claim("ended", 4), claim("gone", 8), waiting}, pods); got != 2 {
		t.Errorf("got %d, want the two devices of the pod that runs", got)
	}
}
