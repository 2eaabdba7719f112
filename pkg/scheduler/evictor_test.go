// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// deletion evicts a pod, and returns how it is deleted.
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

// TestAnEvictionIsOfOnePod: another one of the same name may have taken its place, and the pod may be one whose deletion failed before.
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
