// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestJobsThatArrive tests for which jobs nothing is written because controllers are still creating what they need.
func TestJobsThatArrive(t *testing.T) {
	now := time.Now()
	job := func(minAvailable int32, age time.Duration, pods ...*corev1.Pod) *api.JobInfo {
		made := api.NewJobInfo("job")
		made.MinAvailable = minAvailable
		for i, pod := range pods {
			pod := changed(pod, func(pod *corev1.Pod) {
				pod.UID, pod.CreationTimestamp = types.UID(fmt.Sprint(i)), metav1.NewTime(now.Add(-age))
			})
			made.AddTaskInfo(api.NewTaskInfo(pod))
		}
		return made
	}
	complete := waitingPod()
	lacking := changed(complete, func(pod *corev1.Pod) { pod.Status.ResourceClaimStatuses = nil })
	running := changed(complete, func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning })
	for name, test := range map[string]struct {
		job  *api.JobInfo
		want bool
	}{
		"no pods yet":             {job(2, time.Second), false},
		"a pod of two":            {job(2, time.Second, complete), true},
		"a pod of two, for long":  {job(2, time.Minute, complete), false},
		"all pods":                {job(2, time.Second, complete, complete), false},
		"a claim lacks":           {job(1, time.Second, complete, lacking), true},
		"a claim lacks for long":  {job(1, time.Minute, complete, lacking), false},
		"a claim of a second pod": {job(1, time.Second, running, lacking), false},
	} {
		if got := arrives(test.job, now); got != test.want {
			t.Errorf("%s: arrives is %t", name, got)
		}
	}
}

// TestAJobWhosePodsAreBoundStaysLetIn tests that a job does not ask for room again while its pods are being bound, although nothing was written yet.
func TestAJobWhosePodsAreBoundStaysLetIn(t *testing.T) {
	s := newSlowBinding(t)
	phase := func() scheduling.PodGroupPhase { return s.pods.Snapshot().Jobs["ns/job"].PodGroup.Status.Phase }
	letIn := func() {
		job := s.pods.Snapshot().Jobs["ns/job"]
		job.PodGroup.Status.Phase = scheduling.PodGroupInqueue
		if _, err := s.UpdateJobStatus(job, true, false, false); err != nil {
			t.Fatal(err) // the API server has no such PodGroup, so nothing was to be written
		}
	}
	if got := phase(); got == scheduling.PodGroupInqueue {
		t.Fatal("the job is let in before it was")
	}
	letIn()
	for range 2 {
		if got := phase(); got != scheduling.PodGroupInqueue {
			t.Errorf("the job is %s", got)
		}
	}
	session := s.pods.open(&configuration{})
	if got, want := session.Jobs["ns/job"].PodGroup.Status.Phase, session.PodGroupOldState.Status["ns/job"].Phase; got != scheduling.PodGroupInqueue || want == got {
		t.Errorf("a session has a job that is %s, and believes that the API server has %s", got, want)
	}
	s.Lock()
	s.Jobs["ns/job"].PodGroup.ResourceVersion = "changed"
	s.Unlock()
	for range 2 {
		if got := phase(); got == scheduling.PodGroupInqueue {
			t.Error("the job is let in although its PodGroup has changed")
		}
	}
	letIn()
	s.slow <- fmt.Errorf("no volume")
	eventually(t, "the pod is being bound", func() bool { return !s.binding() })
	if got := phase(); got != scheduling.PodGroupInqueue {
		t.Errorf("after a binding that failed, the job is %s", got)
	}
}

// TestJobsWhosePodsAreBound tests for which jobs nothing is written because their pods are being bound.
func TestJobsWhosePodsAreBound(t *testing.T) {
	failed := changed(waitingPod(), func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: api.PodReasonSchedulerError}}
	})
	running := changed(waitingPod(), func(pod *corev1.Pod) {
		pod.UID, pod.Spec.NodeName, pod.Status.Phase = "runs", "node", corev1.PodRunning
	})
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want bool
	}{
		"a pod for the first time":                              {[]*corev1.Pod{waitingPod()}, true},
		"a pod whose last binding failed, as all others may do": {[]*corev1.Pod{failed}, false},
		"a pod beside one that runs":                            {[]*corev1.Pod{waitingPod(), running}, false},
	} {
		b, job := &bindings{}, api.NewJobInfo("job")
		for _, pod := range test.pods {
			task := api.NewTaskInfo(pod)
			if pod.Spec.NodeName == "" {
				task.Status = api.Binding
				b.begin(pod.UID, task)
			}
			job.AddTaskInfo(task)
		}
		if got := b.begun(job, time.Now().Add(-time.Hour)); got != test.want {
			t.Errorf("%s: begun is %t", name, got)
		}
	}
}

// TestTheHyperNodeOfAJobIsKept tests that Volcano's cache learns where the pods of a job are while they are being bound. Otherwise, pods that come later would
// go to where the job was before.
func TestTheHyperNodeOfAJobIsKept(t *testing.T) {
	s := newSlowBinding(t)
	s.Lock()
	s.Jobs["ns/job"].AllocatedHyperNode = "rack-a"
	s.Unlock()
	job := s.pods.Snapshot().Jobs["ns/job"]
	job.AllocatedHyperNode = "rack-b"
	if _, err := s.UpdateJobStatus(job, false, false, true); err != nil {
		t.Fatal(err)
	}
	s.Lock()
	defer s.Unlock()
	if got := s.Jobs["ns/job"].AllocatedHyperNode; got != "rack-b" {
		t.Errorf("the job is in %s", got)
	}
	s.slow <- fmt.Errorf("no volume")
}
