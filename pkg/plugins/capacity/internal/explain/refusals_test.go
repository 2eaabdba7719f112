// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
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
		if got := WhyPending(job, task); got != want {
			t.Errorf("the pod waits because %q, want %q", got, want)
		}
	}
	expect("The job starts only with <1> pods together, and only <0> of them have a place")
	job.MinAvailable = 2
	expect("The job starts only with <2> pods together, and only <1> of them exist: see whether what creates them runs")
	job.MinAvailable = 0
	expect("The scheduler has not tried the pod in this session: others came first")
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
