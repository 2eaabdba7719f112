// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

func waitingPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "worker", Annotations: map[string]string{"scheduling.k8s.io/group-name": "job"}},
		Spec: corev1.PodSpec{SchedulerName: "volcano", ResourceClaims: []corev1.PodResourceClaim{
			{Name: "gpu", ResourceClaimTemplateName: ptr.To("one-gpu")},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("worker-gpu")}}},
	}
}

func changed(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	pod = pod.DeepCopy()
	change(pod)
	return pod
}

// TestSessionsBeginEarly tests when the next session begins after one that took 20 ms.
func TestSessionsBeginEarly(t *testing.T) {
	waiting := waitingPod()
	running := changed(waiting, func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning })
	// A session writes the node that it tries to the object that the informer has.
	tried := changed(waiting, func(pod *corev1.Pod) { pod.Spec.NodeName = "node" })
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		at            time.Duration
		want          time.Duration
	}{
		"nothing comes":                     {waiting, changed(waiting, func(pod *corev1.Pod) { pod.Status.Message = "waits" }), 100 * time.Millisecond, time.Second},
		"a pod comes":                       {nil, waiting, 100 * time.Millisecond, 110 * time.Millisecond},
		"a pod comes soon":                  {nil, waiting, time.Millisecond, 70 * time.Millisecond},
		"a pod comes late":                  {nil, waiting, 999 * time.Millisecond, time.Second + 9*time.Millisecond},
		"its claim is made":                 {changed(waiting, func(pod *corev1.Pod) { pod.Status.ResourceClaimStatuses = nil }), waiting, 100 * time.Millisecond, 110 * time.Millisecond},
		"it lacks its claim":                {nil, changed(waiting, func(pod *corev1.Pod) { pod.Status.ResourceClaimStatuses = nil }), 100 * time.Millisecond, time.Second},
		"it lacks its PodGroup":             {nil, changed(waiting, func(pod *corev1.Pod) { pod.Annotations = nil }), 100 * time.Millisecond, time.Second},
		"it has a gate":                     {nil, changed(waiting, func(pod *corev1.Pod) { pod.Spec.SchedulingGates = make([]corev1.PodSchedulingGate, 1) }), 100 * time.Millisecond, time.Second},
		"it is for another scheduler":       {nil, changed(waiting, func(pod *corev1.Pod) { pod.Spec.SchedulerName = "default-scheduler" }), 100 * time.Millisecond, time.Second},
		"a session has tried a node":        {tried, waiting, 100 * time.Millisecond, time.Second},
		"this scheduler places a pod":       {waiting, running, 100 * time.Millisecond, time.Second},
		"a pod has ended":                   {running, changed(running, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }), 100 * time.Millisecond, 110 * time.Millisecond},
		"a pod is gone":                     {running, nil, 100 * time.Millisecond, 110 * time.Millisecond},
		"a pod that had no node is deleted": {waiting, nil, 100 * time.Millisecond, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPace(time.Second, []string{"volcano"})
				time.AfterFunc(test.at, func() { p.tell(test.before, test.after) })
				began := time.Now()
				p.worked = 20 * time.Millisecond
				p.rest(t.Context())
				if rested := time.Since(began); rested != test.want {
					t.Errorf("the next session begins after %s, want %s", rested, test.want)
				}
			})
		})
	}
}

// TestSessionsRest tests that the scheduler works for a quarter of the time at most, and that no session waits longer than the period.
func TestSessionsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, []string{"volcano"})
		for worked, want := range map[time.Duration]time.Duration{
			0: 10 * time.Millisecond, 100 * time.Millisecond: 310 * time.Millisecond, 300 * time.Millisecond: 910 * time.Millisecond, time.Minute: time.Second,
		} {
			p.tell(nil, waitingPod())
			began := time.Now()
			p.worked = worked
			p.rest(t.Context())
			if rested := time.Since(began); rested != want {
				t.Errorf("after a session of %s, the next begins after %s, want %s", worked, rested, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		p.rest(ctx)
		if rested := time.Since(began); rested != 0 {
			t.Errorf("the end of the scheduler takes %s", rested)
		}
	})
}

// TestSessionsAreRareWhileNobodyNeedsOne tests when sessions begin after one that found nothing that waits.
func TestSessionsAreRareWhileNobodyNeedsOne(t *testing.T) {
	running := changed(waitingPod(), func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning })
	for name, test := range map[string]struct {
		waits bool
		// happens is what happens after 2.5 seconds, and asks says that somebody asks from then on.
		happens func(p *pace)
		asks    bool
		want    []time.Duration
	}{
		"nothing happens":    {want: []time.Duration{10 * time.Second, 10 * time.Second}},
		"something waits":    {waits: true, want: []time.Duration{time.Second, time.Second, time.Second}},
		"somebody asks":      {asks: true, want: []time.Duration{3 * time.Second, time.Second}},
		"a pod changes":      {happens: func(p *pace) { p.tell(running, running) }, want: []time.Duration{3 * time.Second, time.Second, 10 * time.Second}},
		"a pod ends":         {happens: func(p *pace) { p.tell(running, nil) }, want: []time.Duration{2510 * time.Millisecond, time.Second, 10 * time.Second}},
		"a pod comes":        {happens: func(p *pace) { p.tell(nil, waitingPod()) }, want: []time.Duration{2510 * time.Millisecond, time.Second, 10 * time.Second}},
		"a quota is changed": {happens: (*pace).announce, want: []time.Duration{2510 * time.Millisecond, time.Second, 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPace(time.Second, []string{"volcano"})
				for range sessionsAfterStart {
					began := time.Now()
					if p.rest(t.Context()); time.Since(began) != time.Second {
						t.Fatalf("after a start, a session begins after %s", time.Since(began))
					}
				}
				p.waits = test.waits
				settled := time.Now()
				p.asked = func() bool { return test.asks && time.Since(settled) > 2500*time.Millisecond }
				if test.happens != nil {
					time.AfterFunc(2500*time.Millisecond, func() { test.happens(p) })
				}
				for i, want := range test.want {
					began := time.Now()
					p.rest(t.Context())
					if rested := time.Since(began); rested != want {
						t.Errorf("session %d begins after %s, want %s", i+1, rested, want)
					}
				}
			})
		})
	}
}

func TestWaits(t *testing.T) {
	for name, test := range map[string]struct {
		phase    scheduling.PodGroupPhase
		statuses []api.TaskStatus
		want     bool
	}{
		"a job that is let in":        {phase: scheduling.PodGroupInqueue},
		"a job that is not let in":    {phase: scheduling.PodGroupPending, want: true},
		"pods that run or have ended": {phase: scheduling.PodGroupRunning, statuses: []api.TaskStatus{api.Running, api.Succeeded, api.Failed}},
		"a pod without a node":        {phase: scheduling.PodGroupRunning, statuses: []api.TaskStatus{api.Running, api.Pending}, want: true},
		"a pod that has yet to start": {phase: scheduling.PodGroupRunning, statuses: []api.TaskStatus{api.Bound}, want: true},
		"a pod that is being bound":   {phase: scheduling.PodGroupRunning, statuses: []api.TaskStatus{api.Binding}, want: true},
		"a pod that is being deleted": {phase: scheduling.PodGroupRunning, statuses: []api.TaskStatus{api.Releasing}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			job := api.NewJobInfo("ns/job")
			job.PodGroup = &api.PodGroup{PodGroup: scheduling.PodGroup{Status: scheduling.PodGroupStatus{Phase: test.phase}}}
			job.TaskStatusIndex[api.Pending] = api.TasksMap{} // its pods have another status by now
			for _, status := range test.statuses {
				job.TaskStatusIndex[status] = api.TasksMap{"pod": nil}
			}
			if got := waits(map[api.JobID]*api.JobInfo{job.UID: job}); got != test.want {
				t.Errorf("waits = %t, want %t", got, test.want)
			}
		})
	}
}
