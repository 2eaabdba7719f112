// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
)

func TestEvictedPodsGetTimeToEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		own     *int64
		longest time.Duration
		want    int64
	}{
		{"their own", ptr.To[int64](45), 9 * time.Minute, 45},
		{"the default", nil, 9 * time.Minute, 30},
		{"not a year", ptr.To[int64](365 * 24 * 3600), 9 * time.Minute, 540},
		{"a year, if nothing is kept for others", ptr.To[int64](365 * 24 * 3600), 0, 365 * 24 * 3600},
		{"until their node has ended them", ptr.To[int64](0), 9 * time.Minute, 1},
		{"a second at least", ptr.To[int64](30), time.Millisecond, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "victim", UID: "uid"}}
			pod.Spec.TerminationGracePeriodSeconds = test.own
			if options := deletion(t, pod, test.longest); *options.GracePeriodSeconds != test.want {
				t.Errorf("the pod gets %d s, want %d s", *options.GracePeriodSeconds, test.want)
			}
		})
	}
}

// deletion evicts a pod, and returns the options of its deletion.
func deletion(t *testing.T, pod *corev1.Pod, longest time.Duration) metav1.DeleteOptions {
	t.Helper()
	client := fake.NewClientset(pod)
	e := &evictor{client: client, recorder: &record.FakeRecorder{}, longest: func() time.Duration { return longest }}
	if err := e.Evict(pod, "reclaim"); err != nil {
		t.Fatal(err)
	}
	for _, action := range client.Actions() {
		if action, is := action.(clienttesting.DeleteActionImpl); is {
			return action.DeleteOptions
		}
	}
	t.Fatal("the pod is not deleted")
	return metav1.DeleteOptions{}
}

// TestAnEvictionIsOfOnePod: another pod may have the same name now, or the deletion of the pod may have failed before.
func TestAnEvictionIsOfOnePod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "victim", UID: "uid"}}
	for range 2 {
		if options := deletion(t, pod, 0); options.Preconditions == nil || *options.Preconditions.UID != "uid" {
			t.Errorf("the pod is deleted with %+v", options)
		}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Evict", Message: "Pod is evicted, because of reclaim"},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler, Message: ": preempting to accommodate a higher priority pod"},
		}
	}
}

// TestAPodIsEvictedWhateverItsUserDoes: a user who changes a pod all the time, or fills its annotations until no status fits, would keep the pod.
// Queues that deserve its amounts would evict other pods for nothing.
func TestAPodIsEvictedWhateverItsUserDoes(t *testing.T) {
	status := schema.GroupResource{Resource: "pods/status"}
	for name, refuse := range map[string]func(decided bool) error{
		"changes it": func(decided bool) error {
			if !decided {
				return nil
			}
			return apierrors.NewConflict(status, "victim", errors.New("the object has been modified"))
		},
		"makes its status unwritable": func(bool) error { return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "victim", nil) },
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "victim", UID: "uid", ResourceVersion: "1"}}
		client := fake.NewClientset(pod)
		client.PrependReactor("*", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() != "status" {
				return false, nil, nil
			}
			patch, isPatch := action.(clienttesting.PatchAction)
			err := refuse(!isPatch || strings.Contains(string(patch.GetPatch()), "resourceVersion"))
			return err != nil, nil, err
		})
		e := &evictor{client: client, recorder: &record.FakeRecorder{}, longest: func() time.Duration { return 0 }, failed: func(*corev1.Pod) {}}
		if err := e.Evict(pod, "reclaim"); err != nil {
			t.Errorf("a user %s: %v", name, err)
		}
		if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "victim", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a user %s, and the pod stays", name)
		}
	}
}

// TestAnEvictionIsWrittenOnThePod: what else its status has stays.
func TestAnEvictionIsWrittenOnThePod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "victim", UID: "uid"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	client := fake.NewClientset(pod)
	client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	e := &evictor{client: client, recorder: &record.FakeRecorder{}, longest: func() time.Duration { return 0 }, failed: func(*corev1.Pod) {}}
	if err := e.Evict(pod, "reclaim"); err != nil {
		t.Fatal(err)
	}
	now, err := client.CoreV1().Pods("ns").Get(t.Context(), "victim", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, condition := range now.Status.Conditions {
		conditions[condition.Type] = condition.Status
	}
	want := map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodScheduled: corev1.ConditionTrue, corev1.PodReady: corev1.ConditionFalse, corev1.DisruptionTarget: corev1.ConditionTrue,
	}
	if !maps.Equal(conditions, want) || now.Status.Phase != corev1.PodRunning {
		t.Errorf("the status is %v", now.Status)
	}
}

func TestTheLongestEndIsShorterThanWhatIsKept(t *testing.T) {
	plugin := func(name string, arguments map[string]any) *configuration {
		return &configuration{tiers: []conf.Tier{{}, {Plugins: []conf.PluginOption{{Name: "gang"}, {Name: name, Arguments: arguments}}}}}
	}
	for _, test := range []struct {
		name string
		conf *configuration
		want time.Duration
	}{
		{"by default", plugin("capacity", nil), 9 * time.Minute},
		{"as configured", plugin("capacity-card", map[string]any{"reservationTimeout": "1h"}), 59 * time.Minute},
		{"for a short time", plugin("capacity", map[string]any{"reservationTimeout": "30s"}), 15 * time.Second},
		{"without the plugin", plugin("proportion", nil), 0},
	} {
		if got := test.conf.longestEnd(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
