// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/settings"
)

var begins = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return begins.Add(time.Duration(seconds) * time.Second) }

// recording returns a recorder that has just started to record, and its clock.
func recording() (*Recorder, *testingclock.FakeClock) {
	clock := testingclock.NewFakeClock(begins)
	r := NewRecorder(clock)
	r.Record(accounting.New(accounting.Period(24*time.Hour)), &settings.Accounting{})
	return r, clock
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
}

// finishes sets the finish times of a pod's containers.
func finishes(pod *corev1.Pod, seconds ...int) *corev1.Pod {
	pod.Status.Phase = corev1.PodSucceeded
	for _, s := range seconds {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(after(s))},
		}})
	}
	return pod
}

// signalWatch returns a channel that is closed once a resource is watched. The fake API server does not send changes
// between a list and a watch.
func signalWatch(kube *fake.Clientset, resource string) <-chan struct{} {
	watching := make(chan struct{})
	begun := sync.OnceFunc(func() { close(watching) })
	kube.PrependWatchReactor(resource, func(action clienttesting.Action) (bool, watch.Interface, error) {
		defer begun()
		changes, err := kube.Tracker().Watch(action.GetResource(), action.GetNamespace())
		return true, changes, err
	})
	return watching
}

// expectEndings waits until these endings are noted, and takes them.
func expectEndings(t *testing.T, r *Recorder, want ...ending) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return r.endings.count() == len(want), nil
	})
	if err != nil {
		t.Fatalf("%d endings are noted, want %d", r.endings.count(), len(want))
	}
	for i, got := range r.endings.take(len(want)) {
		if got.key != want[i].key || !got.at.Equal(want[i].at) {
			t.Errorf("noted %v, want %v", got, want[i])
		}
	}
}
