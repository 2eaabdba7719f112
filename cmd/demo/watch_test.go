// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func TestRows(t *testing.T) {
	a := act{jobs: [2]job{{"first", 6}, {"second", 4}}, devices: 8}
	running := tally{submitted: true, running: 6}
	waiting := tally{submitted: true, waiting: 4, why: "no quota"}
	const first, second = "   2.5s  first          6        0     0   6 of 8 H100", "   2.5s  second         0        4     0   "
	for _, c := range []struct {
		name        string
		before, now state
		want        []string
	}{
		{"no job is submitted", state{}, state{devices: 1}, nil},
		{"only the first job is submitted", state{}, state{jobs: [2]tally{running}, devices: 6}, []string{first}},
		{"both jobs are submitted", state{}, state{jobs: [2]tally{running, waiting}, devices: 6}, []string{first, second, "         second waits: no quota"}},
		{"the reason is the same as before", state{jobs: [2]tally{{submitted: true, waiting: 6}, waiting}}, state{jobs: [2]tally{running, waiting}, devices: 6}, []string{first, second}},
		{"nothing has changed", state{jobs: [2]tally{running}}, state{jobs: [2]tally{running}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, row := range a.rows(2500*time.Millisecond, c.before, c.now) {
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
