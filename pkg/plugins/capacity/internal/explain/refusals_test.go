// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// waiting is the job of a gang, and its waiting pod.
func waiting(minimum int32) (*api.JobInfo, *api.TaskInfo) {
	task := api.NewTaskInfo(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Status: corev1.PodStatus{Phase: corev1.PodPending}})
	job := api.NewJobInfo("ns/j", task)
	job.MinAvailable, job.Queue, job.PodGroup = minimum, "team", &api.PodGroup{}
	return job, task
}

func TestAPodThatWaitsIsExplainedInVolcanosWords(t *testing.T) {
	job, task := waiting(1)
	expect := func(want string) {
		t.Helper()
		if got := newPending(job).why(task); got != want {
			t.Errorf("the pod waits because %q, want %q", got, want)
		}
	}
	expect("The job starts only with <1> pods together, and only <0> of them have a place")
	job.MinAvailable = 2
	expect("The job starts only with <2> pods together, and only <1> of them exist: see whether what creates them runs")
	job.MinAvailable = 0
	expect("The scheduler has not tried the pod in this session: others came first")
	for _, name := range []string{"b", "a"} {
		other := api.NewTaskInfo(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}})
		job.AddTaskInfo(other)
		job.NodesFitErrors[other.UID] = api.NewFitErrors()
		job.NodesFitErrors[other.UID].SetError("no node fits " + name)
	}
	expect("The scheduler has not tried the pod in this session, because no node suits pod <a> of its job: no node fits a")
	job.JobFitErrors = "the job does not fit"
	expect("the job does not fit")
	job.NodesFitErrors[task.UID] = api.NewFitErrors()
	job.NodesFitErrors[task.UID].SetError("no node fits")
	expect("no node fits")
	task.Pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "review"}, {Name: "budget"}}
	expect("The pod has scheduling gates, which somebody else must remove: review, budget")
}

func TestAJobThatIsNotLetInIsExplainedInVolcanosWords(t *testing.T) {
	job, _ := waiting(1)
	expect := func(want string) {
		t.Helper()
		if got := NotAdmitted(job).Message(); got != want {
			t.Errorf("the job is not let in because %q, want %q", got, want)
		}
	}
	expect("The job has not been let into queue <team> yet")
	job.PodGroup.Status.Conditions = []scheduling.PodGroupCondition{{Type: scheduling.PodGroupUnschedulableType, Status: corev1.ConditionTrue, Message: "the queue is full"}}
	expect("the queue is full")
	job.JobFitErrors = "the job does not fit"
	expect("the job does not fit")
}

func TestNodesThatDoNotTakeAPodAreSummedUpUnlessVolcanoHasTriedThem(t *testing.T) {
	job, task := waiting(1)
	answers := []v1alpha1.NodesAnswer{{Count: 2, Message: "Insufficient cpu"}, {Count: 1, Message: "tainted"}}
	if got, want := NoNode(job, task, 3, answers).Message(), "0/3 nodes are unavailable: 2 Insufficient cpu, 1 tainted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	job.NodesFitErrors[task.UID] = api.NewFitErrors()
	job.NodesFitErrors[task.UID].SetError("no node fits")
	if got := NoNode(job, task, 3, answers).Message(); got != "no node fits" {
		t.Errorf("got %q", got)
	}
	if refusal := NoNode(job, task, 3, append(answers, v1alpha1.NodesAnswer{Count: 1, Suitable: true})); refusal != nil {
		t.Errorf("a node takes the pod, and it is refused: %s", refusal.Message())
	}
}

func TestTheCauseIsWhatPeopleHaveBeenToldOrElseTheCheckThatFails(t *testing.T) {
	const other = "No check of this plugin keeps it from starting: another plugin does, or others came first in this session"
	for _, c := range []struct {
		name           string
		refusals       []report.Refusal
		told           report.Refusal
		results, cause string
	}{
		{"a check fails", []report.Refusal{nil, Unreported("full"), nil, Unreported("closed")}, nil, "[0:Passed 1:Failed 2:NotReached 3:NotReached]", "full"},
		{"a check fails, and people have been told something else", []report.Refusal{Unreported("full")}, Unreported("was closed"), "[0:Failed]", "was closed"},
		{"no check fails, and people have been told something", []report.Refusal{nil}, Unreported("was full"), "[0:Passed Session:Failed]", "was full"},
		{"no check fails, and people have been told nothing", []report.Refusal{nil}, nil, "[0:Passed Session:Failed]", other},
	} {
		var checks Checks
		for i, refusal := range c.refusals {
			checks.Add(fmt.Sprint(i), refusal)
		}
		made, cause := checks.End(c.told)
		var results []string
		for _, check := range made {
			results = append(results, check.Name+":"+string(check.Result))
		}
		if got := fmt.Sprint(results); got != c.results || cause.Message != c.cause {
			t.Errorf("%s: %s because %q, want %s because %q", c.name, got, cause.Message, c.results, c.cause)
		}
	}
}

func TestAJobOfVolcanoWithoutAPodGroupIsExplainedByItsPhase(t *testing.T) {
	for _, c := range []struct {
		phase batchv1alpha1.JobPhase
		state v1alpha1.State
		cause string
	}{
		{batchv1alpha1.Completed, v1alpha1.Ended, ""}, {batchv1alpha1.Failed, v1alpha1.Ended, ""}, {batchv1alpha1.Aborted, v1alpha1.Ended, ""},
		{batchv1alpha1.Terminating, v1alpha1.Releasing, ""},
		{"", v1alpha1.Waiting, "The job has no PodGroup yet: Volcano's controllers create one for it, see whether they run"},
	} {
		job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "second"}, Spec: batchv1alpha1.JobSpec{Queue: "team"}}
		job.Status.State.Phase = c.phase
		known := &snapshot.Snapshot{Input: snapshot.Input{Queues: map[api.QueueID]*api.QueueInfo{"team": {}}}}
		told := (&Session{Described: &describe.Session{Snapshot: known}}).withoutGroup(job)
		if told.State != c.state || told.Queue != "team" || told.Subject.Kind != "Job" || (told.Cause != nil) != (c.cause != "") || told.Cause != nil && told.Cause.Message != c.cause {
			t.Errorf("a job that is %q: %+v", c.phase, told)
		}
	}
}
