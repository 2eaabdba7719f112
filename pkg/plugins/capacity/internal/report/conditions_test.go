// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/scheduling"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// addPod adds a waiting pod to a job.
func addPod(job *api.JobInfo, name string) *api.TaskInfo {
	task := api.NewTaskInfo(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{vcv1beta1.KubeGroupNameAnnotationKey: job.Name},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	})
	job.AddTaskInfo(task)
	return task
}

func waiting(job *api.JobInfo) *scheduling.PodGroupCondition {
	i := waitingIndex(&job.PodGroup.Status)
	if i < 0 {
		return nil
	}
	return &job.PodGroup.Status.Conditions[i]
}

func TestAPodGroupSaysWhyItWaits(t *testing.T) {
	f := newFixture(t)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	f.Clock = clock
	job, task := f.job("j")
	full := refusal{"Full", "the queue is full"}
	for i, session := range []struct {
		name     string
		job, pod Refusal
		// want is the condition: its reason, its message, and the session and second of its last transition.
		want string
	}{
		{"nothing yet", nil, nil, ""},
		{"a job that is not admitted", full, nil, "Full: the queue is full since session 1, 1001"},
		{"the same keeps its time", full, nil, "Full: the queue is full since session 1, 1001"},
		{"other numbers, too", refusal{"Full", "the queue is fuller"}, nil, "Full: the queue is fuller since session 1, 1001"},
		{"a pod of a job that was admitted", nil, refusal{"NoDevices", "no devices"}, "NoDevices: no devices since session 1, 1001"},
		{"a refusal that has no event", nil, refusal{"", "a moment"}, "Unschedulable: a moment since session 1, 1001"},
		{"nobody is refused", nil, nil, ""},
		{"and waits again", full, nil, "Full: the queue is full since session 7, 1007"},
	} {
		clock.SetTime(time.Unix(int64(1000+i), 0))
		f.Begin(types.UID(fmt.Sprint("session ", i)))
		if session.job != nil {
			f.RefuseJob(job, session.job)
		}
		if session.pod != nil {
			f.RefusePod(job, task, session.pod)
		}
		f.Refusals(f.jobs)
		got := ""
		if c := waiting(job); c != nil {
			got = fmt.Sprintf("%s: %s since %s, %d", c.Reason, c.Message, c.TransitionID, c.LastTransitionTime.Unix())
		}
		if got != session.want {
			t.Errorf("%s: the condition is %q, want %q", session.name, got, session.want)
		}
	}
}

func TestTheReasonOfAJobDoesNotDependOnTheOrderOfItsPods(t *testing.T) {
	for range 20 {
		f := newFixture(t)
		job, a := f.job("j")
		b, c := addPod(job, "b"), addPod(job, "c")
		f.Begin("session")
		f.RefusePod(nil, a, refusal{"Z", "z"})
		f.RefusePod(nil, b, refusal{"X", "x"})
		f.RefusePod(nil, c, refusal{"Y", "y"})
		f.Refusals(f.jobs)
		if got := waiting(job).Message; got != "x" {
			t.Fatalf("the job waits because of %q, want the first by name", got)
		}
		f.Begin("session")
		f.RefusePod(nil, a, refusal{"A", "a"})
		f.RefusePod(nil, b, refusal{"X", "x"})
		f.Refusals(f.jobs)
		if got := waiting(job).Message; got != "x" {
			t.Fatalf("the job waits because of %q, although what it said before still holds", got)
		}
	}
}

// TestTheVerdictOfGangQuotesOneReason: upstream's gang plugin quotes any pod of a job that does not say why it waits.
func TestTheVerdictOfGangQuotesOneReason(t *testing.T) {
	for range 20 {
		f := newFixture(t)
		job, a := f.job("j")
		job.MinAvailable = 3
		b := addPod(job, "b")
		f.Begin("session")
		f.RefusePod(nil, a, refusal{"X", "x"})
		f.RefusePod(nil, b, refusal{"Y", "y"})
		f.Refusals(f.jobs)
		const want = "pod group is not ready, 2 Pending, 3 minAvailable; Pending: 2 Unschedulable. Origin reason is: x"
		if got := job.FitError(); got != want {
			t.Fatalf("gang would quote\n%s, want\n%s", got, want)
		}
	}
}

// withStatus lets the reporter write conditions to a cluster with these objects.
func (f *fixture) withStatus(pods, groups []runtime.Object) (*fake.Clientset, *vcfake.Clientset) {
	kube, volcano := fake.NewClientset(pods...), vcfake.NewSimpleClientset(groups...)
	ctx, stop := context.WithCancel(f.Context())
	f.Status = NewStatusWriter(ctx, kube, volcano)
	f.Cleanup(func() { stop(); f.Status.Shutdown() })
	return kube, volcano
}

// eventually waits until a condition has been written.
func (f *fixture) eventually(what string, want string, got func(context.Context) string) {
	f.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(f.Context(), time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = got(ctx)
		return last == want, nil
	})
	if err != nil {
		f.Errorf("%s says %q, want %q", what, last, want)
	}
}

func podSays(client *fake.Clientset, name string) func(context.Context) string {
	return func(ctx context.Context) string {
		pod, err := client.CoreV1().Pods("ns").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		said := ""
		for _, c := range pod.Status.Conditions {
			said += fmt.Sprintf("%s=%s %s: %s;", c.Type, c.Status, c.Reason, c.Message)
		}
		return said
	}
}

func groupSays(client *vcfake.Clientset, name string) func(context.Context) string {
	return func(ctx context.Context) string {
		group, err := client.SchedulingV1beta1().PodGroups("ns").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		said := string(group.Status.Phase)
		if group.Status.Succeeded+group.Status.Failed > 0 {
			said += fmt.Sprintf(" %d succeeded %d failed", group.Status.Succeeded, group.Status.Failed)
		}
		for _, c := range group.Status.Conditions {
			said += fmt.Sprintf(" %s=%s %s: %s;", c.Type, c.Status, c.Reason, c.Message)
		}
		return said
	}
}

// TestUpstreamHasNothingToSayOfARefusedPod: the pod in the session already has the condition, so upstream writes no
// event with the same message.
func TestUpstreamHasNothingToSayOfARefusedPod(t *testing.T) {
	f := newFixture(t)
	job, task := f.job("p")
	original := task.Pod
	original.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "before", LastTransitionTime: metav1.Unix(500, 0)},
		{Type: "Other", Status: corev1.ConditionTrue},
	}
	kube, _ := f.withStatus([]runtime.Object{original.DeepCopy()}, nil)
	for range 3 {
		f.Begin("session")
		f.RefusePod(job, task, refusal{"Reason", "the quota is used up"})
		f.Refusals(f.jobs)
		f.end()
	}
	f.expectEvents("three sessions", "Warning Reason the quota is used up"+podEvent)
	last := task.Pod.Status.Conditions[len(task.Pod.Status.Conditions)-1]
	if last.Message != "the quota is used up" || last.LastTransitionTime != metav1.Unix(500, 0) || original.Status.Conditions[0].Message != "before" {
		t.Errorf("the pod of the session says %q since %s, the pod of the cache says %q", last.Message, last.LastTransitionTime, original.Status.Conditions[0].Message)
	}
	f.eventually("the pod", "PodScheduled=False Unschedulable: the quota is used up;Other=True : ;", podSays(kube, "p"))
	writes := 0
	for _, action := range kube.Actions() {
		if action.GetVerb() == "patch" {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("%d writes of the same condition, want 1", writes)
	}
}

func TestMissingQueues(t *testing.T) {
	const event = "Warning QueueNotFound Queue <gone> does not exist: create the queue, or submit the job to another one involvedObject{kind="
	f := newFixture(t)
	group := &vcv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", UID: "g"}, Spec: vcv1beta1.PodGroupSpec{Queue: "gone"},
		Status: vcv1beta1.PodGroupStatus{Phase: vcv1beta1.PodGroupInqueue},
	}
	_, task := f.job("p")
	pod := task.Pod
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "the quota is used up"}}
	kube, volcano := f.withStatus([]runtime.Object{pod.DeepCopy()}, []runtime.Object{group.DeepCopy()})
	withoutQueue := []Outsider{{Group: group, Pods: []*corev1.Pod{pod}}}
	f.Begin("session")
	f.MissingQueues(withoutQueue)
	f.expectEvents("the first session", event+"PodGroup,apiVersion=scheduling.volcano.sh/v1beta1}", event+"Pod,apiVersion=v1}")
	f.MissingQueues(withoutQueue)
	f.expectEvents("the next session")
	const says = "QueueNotFound: Queue <gone> does not exist: create the queue, or submit the job to another one;"
	f.eventually("the PodGroup", "Inqueue Waiting=True "+says, groupSays(volcano, "g"))
	f.eventually("the pod", "PodScheduled=False Unschedulable: Queue <gone> does not exist: create the queue, or submit the job to another one;", podSays(kube, "p"))
	f.MissingQueues(nil)
	f.MissingQueues(withoutQueue)
	f.expectEvents("the queue is deleted again", event+"PodGroup,apiVersion=scheduling.volcano.sh/v1beta1}", event+"Pod,apiVersion=v1}")
}

// TestAPodGroupThatNoLongerWaitsForItsQueueDoesNotSaySo: no session has the PodGroup, so nothing else removes the condition.
func TestAPodGroupThatNoLongerWaitsForItsQueueDoesNotSaySo(t *testing.T) {
	f := newFixture(t)
	group := &vcv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", UID: "g"}, Spec: vcv1beta1.PodGroupSpec{Queue: "gone"},
		Status: vcv1beta1.PodGroupStatus{Phase: vcv1beta1.PodGroupRunning, Conditions: []vcv1beta1.PodGroupCondition{
			{Type: vcv1beta1.PodGroupScheduled, Status: corev1.ConditionTrue, Reason: "Ready"},
			{Type: vcv1beta1.PodGroupConditionType(WaitingCondition), Status: corev1.ConditionTrue, Reason: "QueueNotFound", Message: "Queue <gone> does not exist"},
		}},
	}
	_, volcano := f.withStatus(nil, []runtime.Object{group.DeepCopy()})
	f.MissingQueues([]Outsider{{Group: group}})
	f.eventually("the PodGroup", "Running Scheduled=True Ready: ;", groupSays(volcano, "g"))
	f.expectEvents("nobody waits")
	if len(group.Status.Conditions) != 2 {
		t.Error("the PodGroup of the informer is changed")
	}
}

// TestAPodGroupThatSaysWhichQueueIsMissingIsLeftAlone: sessions come every second, and PodGroups are large.
func TestAPodGroupThatSaysWhichQueueIsMissingIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	_, volcano := f.withStatus(nil, nil)
	message := refusals.QueueMissing{Queue: "gone"}.Message()
	said := &vcv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "said", UID: "said"}, Spec: vcv1beta1.PodGroupSpec{Queue: "gone"}}
	said.Status.Conditions = []vcv1beta1.PodGroupCondition{
		{Type: vcv1beta1.PodGroupConditionType(WaitingCondition), Status: corev1.ConditionTrue, Reason: "QueueNotFound", Message: message},
	}
	silent := &vcv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "silent", UID: "silent"}, Spec: vcv1beta1.PodGroupSpec{Queue: "gone"}}
	silent.Status.Phase = vcv1beta1.PodGroupRunning
	for i := range 1000 { // a copy takes far more memory than anything else
		said.Status.Conditions = append(said.Status.Conditions, vcv1beta1.PodGroupCondition{Type: vcv1beta1.PodGroupConditionType(fmt.Sprint("Other", i))})
		silent.OwnerReferences = append(silent.OwnerReferences, metav1.OwnerReference{Name: fmt.Sprint("owner", i), Controller: ptr.To(false)})
		said.OwnerReferences = silent.OwnerReferences
	}
	withoutQueue := []Outsider{{Group: said}, {Group: silent}}
	f.MissingQueues(withoutQueue)
	f.expectEvents("a start of the scheduler", "Warning QueueNotFound "+message+" involvedObject{kind=PodGroup,apiVersion=scheduling.volcano.sh/v1beta1}")
	if n := testing.AllocsPerRun(10, func() { f.MissingQueues(withoutQueue) }); n > 500 {
		t.Errorf("%v allocations for two PodGroups about which there is no news", n)
	}
	if len(f.Status.asked) > 0 || len(volcano.Actions()) > 0 {
		t.Errorf("%d writes although there is no news", len(f.Status.asked))
	}
}
