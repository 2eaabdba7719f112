// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	"github.com/devicequota/devicequota/pkg/spent"
)

// TestAWriteThatFailsIsLoggedOnce: without a permission, the conditions of all pods fail in each session.
func TestAWriteThatFailsIsLoggedOnce(t *testing.T) {
	var logged []string
	klog.SetLogger(funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)

	f := newFixture(t)
	job, a := f.job("a")
	b := addPod(job, "b")
	var failure error
	kube := fake.NewClientset(a.Pod.DeepCopy(), b.Pod.DeepCopy())
	kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return failure != nil, nil, failure })
	f.Status = newStatusWriter(kube, nil)
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New(`User "volcano-scheduler" cannot patch resource "pods/status"`))
	const explained = `conditions of pods cannot be written: pods \"a\" is forbidden: User \"volcano-scheduler\" cannot patch resource \"pods/status\": allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml`
	for _, session := range []struct {
		name    string
		failure error
		// wants are the messages in the log, one for both pods.
		wants []string
	}{
		{"the permission is missing", forbidden, []string{explained}},
		{"and is still missing", forbidden, nil},
		{"something else fails", errors.New("no route"), []string{"conditions of pods cannot be written: no route"}},
		{"and still does", errors.New("no route"), nil},
		{"nothing fails", nil, nil},
		{"nothing is left to write", nil, nil},
		{"the permission is missing again", forbidden, []string{explained}},
	} {
		failure, logged = session.failure, nil
		condition, _ := f.unscheduled(a.Pod, session.name)
		f.Status.pod(a.Pod, condition)
		f.Status.pod(b.Pod, condition)
		for f.Status.queue.Len() > 0 {
			f.Status.writeNext(t.Context())
		}
		f.end()
		unexpected := len(logged) != len(session.wants)
		for _, want := range session.wants {
			unexpected = unexpected || !slices.ContainsFunc(logged, func(line string) bool { return strings.Contains(line, want) })
		}
		if unexpected {
			t.Errorf("%s: the log says\n%s, want\n%s", session.name, strings.Join(logged, "\n"), session.wants)
		}
	}
}

// TestAVersionThatIsSpentIsNotWrittenAgain: while the watch of the scheduler is late, each session would write what the API server refuses.
func TestAVersionThatIsSpentIsNotWrittenAgain(t *testing.T) {
	f := newFixture(t)
	_, task := f.job("a")
	pod := task.Pod
	pod.ResourceVersion = "1"
	writes, answers := 0, map[string]func() (string, error){
		"written":       func() (string, error) { return "2", nil },
		"nothing to do": func() (string, error) { return pod.ResourceVersion, nil },
		"changed before": func() (string, error) {
			return "", apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("it has been modified"))
		},
		"gone":      func() (string, error) { return "", apierrors.NewNotFound(corev1.Resource("pods"), "a") },
		"no answer": func() (string, error) { return "", apierrors.NewTimeoutError("the server is busy", 1) },
	}
	kube := fake.NewClientset()
	var answer string
	kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		writes++
		version, err := answers[answer]()
		return true, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}, err
	})
	f.Status = newStatusWriter(kube, nil)
	for answered, again := range map[string]int{"written": 0, "nothing to do": 1, "changed before": 0, "gone": 0, "no answer": 1} {
		answer, writes = answered, 0
		try := func(version, message string) {
			pod.ResourceVersion = version
			condition, _ := f.unscheduled(pod, message)
			f.Status.pod(pod, condition)
			for f.Status.queue.Len() > 0 {
				f.Status.writeNext(t.Context())
			}
			f.Status.end()
		}
		try("1", answered)
		try("1", "something else")
		if writes != 1+again {
			t.Errorf("%s: %d more writes of the same version, want %d", answered, writes-1, again)
		}
		try("3", "once the watch has caught up")
		if writes != 2+again {
			t.Errorf("%s: the next version is not written", answered)
		}
		f.Status.end() // nobody asks, so the writer forgets what was asked
		f.Status.spent = spent.Versions{}
	}
}

// TestAPodGroupIsWrittenAsItWas: the next session overwrites the conditions of its PodGroups, maybe before the write has begun.
func TestAPodGroupIsWrittenAsItWas(t *testing.T) {
	f := newFixture(t)
	job, _ := f.job("j")
	job.PodGroup.Namespace, job.PodGroup.Name = "ns", "j"
	job.PodGroup.Status.Conditions = []scheduling.PodGroupCondition{{Type: WaitingCondition, Message: "full"}}
	client := volcanofake.NewSimpleClientset(&vcv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j"}})
	f.Status = newStatusWriter(nil, client)
	f.Status.podGroup(&job.PodGroup.PodGroup)
	job.PodGroup.Status.Conditions[0].Message = "of the next session"
	f.Status.writeNext(t.Context())
	written, err := client.SchedulingV1beta1().PodGroups("ns").Get(t.Context(), "j", metav1.GetOptions{})
	must(t, err)
	if got := written.Status.Conditions; len(got) != 1 || got[0].Message != "full" {
		t.Errorf("the conditions are %v", got)
	}
}

// TestARefusedWriteIsRepeatedAfterAWhile: the refusal may have had another reason than that the object has changed.
func TestARefusedWriteIsRepeatedAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		_, task := f.job("a")
		task.Pod.ResourceVersion = "1"
		writes, kube := 0, fake.NewClientset()
		kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			writes++
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("somebody refuses"))
		})
		f.Status = newStatusWriter(kube, nil)
		defer f.Status.queue.ShutDown()
		for second := range 21 {
			condition, _ := f.unscheduled(task.Pod, "full")
			f.Status.pod(task.Pod, condition)
			for f.Status.queue.Len() > 0 {
				f.Status.writeNext(t.Context())
			}
			f.Status.end()
			if want := 1 + second/10; writes != want {
				t.Errorf("after %d s, the pod was written %d times, want %d", second, writes, want)
			}
			time.Sleep(time.Second)
		}
	})
}
