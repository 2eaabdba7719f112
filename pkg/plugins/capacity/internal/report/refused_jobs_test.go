// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/apis/pkg/apis/scheduling"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestARefusedJobLeavesTheSession: upstream writes an event Unschedulable for a job of the session in each cycle.
func TestARefusedJobLeavesTheSession(t *testing.T) {
	full := refusal{"Full", "the queue is full"}
	for _, c := range []struct {
		name string
		// pods are the statuses of the job's pods.
		pods    []api.TaskStatus
		refused bool
		dirty   bool
		phase   scheduling.PodGroupPhase
		// stays says that the session keeps the job. Otherwise, says is the message of the PodGroup.
		stays bool
		says  string
	}{
		{name: "without pods", refused: true, says: "Pending Waiting=True Full: the queue is full;"},
		{name: "with pods that wait", pods: []api.TaskStatus{api.Pending, api.Pending}, refused: true, says: "Pending Waiting=True Full: the queue is full;"},
		{name: "with pods that ended and are leaving", pods: []api.TaskStatus{api.Succeeded, api.Failed, api.Releasing}, refused: true,
			says: "Pending 1 succeeded 1 failed Waiting=True Full: the queue is full;"},
		{name: "that is not refused", pods: []api.TaskStatus{api.Pending}, stays: true},
		{name: "about which the session has more to write", pods: []api.TaskStatus{api.Pending}, refused: true, dirty: true, stays: true},
		{name: "that holds something in its queue", pods: []api.TaskStatus{api.Pending, api.Running}, refused: true, stays: true},
		{name: "with a pod that may get a node", pods: []api.TaskStatus{api.Pending, api.Pipelined}, refused: true, stays: true},
		{name: "that is completed", pods: []api.TaskStatus{api.Succeeded, api.Succeeded, api.Succeeded}, refused: true, stays: true},
		{name: "that is admitted after all", pods: []api.TaskStatus{api.Pending}, refused: true, phase: scheduling.PodGroupInqueue, stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			_, volcano := f.withStatus(nil, []runtime.Object{&vcv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j"}}})
			job := api.NewJobInfo("ns/j")
			job.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "j"}, Spec: scheduling.PodGroupSpec{MinMember: 3},
				Status: scheduling.PodGroupStatus{Phase: c.phase},
			}})
			for i, status := range c.pods {
				must(t, job.UpdateTaskStatus(addPod(job, string(rune('a'+i))), status))
			}
			f.jobs[job.UID] = job
			opened, dirty := f.opened(), sets.New[api.JobID]()
			if c.dirty {
				dirty.Insert(job.UID)
			}
			f.Begin("session")
			if c.refused {
				f.RefuseJob(job, full)
			}
			f.Refusals(f.jobs)
			f.End(f.jobs, opened, dirty)
			if _, stays := f.jobs[job.UID]; stays != c.stays {
				t.Fatalf("the session has the job: %t", stays)
			}
			if !c.stays {
				f.eventually("the PodGroup", c.says, groupSays(volcano, "j"))
			}
		})
	}
}

// TestARefusedJobIsWrittenOnce, although upstream's gang condition has the identity and time of each session.
func TestARefusedJobIsWrittenOnce(t *testing.T) {
	f := newFixture(t)
	job, task := f.job("j")
	job.PodGroup.UID = "j"
	_, volcano := f.withStatus([]runtime.Object{task.Pod.DeepCopy()}, []runtime.Object{&vcv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j"}}})
	gang := func(session string) {
		condition := scheduling.PodGroupCondition{Type: scheduling.PodGroupUnschedulableType, Status: corev1.ConditionTrue, TransitionID: session, Message: "1/1"}
		for i := range job.PodGroup.Status.Conditions {
			if c := &job.PodGroup.Status.Conditions[i]; c.Type == condition.Type {
				*c = condition
				return
			}
		}
		job.PodGroup.Status.Conditions = append(job.PodGroup.Status.Conditions, condition)
	}
	for _, session := range []string{"first", "second", "third"} {
		f.jobs[job.UID] = job
		opened := f.opened()
		f.Begin("session")
		f.RefuseJob(job, refusal{"Full", "the queue is full"})
		f.Refusals(f.jobs)
		gang(session)
		f.End(f.jobs, opened, nil)
		f.eventually("the PodGroup", "Pending Waiting=True Full: the queue is full; Unschedulable=True : 1/1;", groupSays(volcano, "j"))
	}
	updates := 0
	for _, action := range volcano.Actions() {
		if action.GetVerb() == "update" {
			updates++
		}
	}
	if updates != 1 {
		t.Errorf("%d writes of the same status, want 1", updates)
	}
}

// TestAJobThatNothingCanBeWrittenOfStays: without a writer, upstream writes the status.
func TestAJobThatNothingCanBeWrittenOfStays(t *testing.T) {
	f := newFixture(t)
	job, _ := f.job("j")
	f.Begin("session")
	f.RefuseJob(job, refusal{"Full", "the queue is full"})
	f.Refusals(f.jobs)
	f.end()
	if f.jobs[job.UID] == nil {
		t.Error("the session lacks the job")
	}
}
