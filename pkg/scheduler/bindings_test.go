// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
)

// slowBinder prepares bindings until it gets an answer, as for a pod whose volumes must be created first.
type slowBinder chan error

func (b slowBinder) PreBind(context.Context, *schedulercache.BindContext) error   { return <-b }
func (b slowBinder) PreBindRollBack(context.Context, *schedulercache.BindContext) {}

// slowBinding is Volcano's cache with a pod p that is being bound to node n1.
type slowBinding struct {
	*testing.T
	*pods
	slow slowBinder
}

func newSlowBinding(t *testing.T) *slowBinding {
	s := &slowBinding{T: t, pods: newPodsFixture(t, wholePod("p", "")), slow: make(slowBinder)}
	s.RegisterBinder("slow", s.slow)
	task := s.pods.Snapshot().Jobs["ns/job"].Tasks["p"]
	task.NodeName = "n1"
	if err := s.AddBindTask(&schedulercache.BindContext{TaskInfo: task, Extensions: map[string]schedulercache.BindContextExtension{}}); err != nil {
		t.Fatal(err)
	}
	s.expect("job", api.Binding, 2000)
	return s
}

// expect checks a session's view of the pod: its job, or none if the name is empty, and the usage of node n1.
func (s *slowBinding) expect(job string, status api.TaskStatus, used float64) {
	s.Helper()
	snapshot := s.pods.Snapshot()
	node := snapshot.Nodes["n1"]
	if node.Used.MilliCPU != used || node.Idle.MilliCPU != 4000-used || (node.Tasks["ns/p"] != nil) != (used > 0) {
		s.Errorf("of the node, %g is used, want %g, and %g idle; its pods are %v", node.Used.MilliCPU, used, node.Idle.MilliCPU, node.Tasks)
	}
	if job == "" {
		return
	}
	task := snapshot.Jobs[api.JobID("ns/"+job)].Tasks["p"]
	if task == nil || task.Status != status || (task.NodeName == "n1") != (used > 0) || snapshot.Jobs[api.JobID("ns/"+job)].TaskStatusIndex[status]["p"] != task {
		s.Errorf("the pod is %v, want %v", task, status)
	} else if used > 0 && node.Tasks["ns/p"].Pod != task.Pod {
		s.Error("the pod on the node is another object than that of the job")
	}
}

// binding reports whether the pod is being bound in a session's view.
func (s *slowBinding) binding() bool {
	snapshot := s.pods.Snapshot()
	for _, job := range snapshot.Jobs {
		if job.TaskStatusIndex[api.Binding]["p"] != nil {
			return true
		}
	}
	return snapshot.Nodes["n1"].Tasks["ns/p"] != nil
}

// change changes the pod, and waits until Volcano's cache has the change.
func (s *slowBinding) change(change func(*corev1.Pod), seen func() bool) {
	s.Helper()
	pods := s.Client().CoreV1().Pods("ns")
	pod, err := pods.Get(s.Context(), "p", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	change(pod)
	if _, err := pods.Update(s.Context(), pod, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, "the cache has not seen the change", func() bool {
		s.Lock()
		defer s.Unlock()
		return seen()
	})
}

// move changes the PodGroup of the pod. An empty name removes it.
func (s *slowBinding) move(group string) {
	s.Helper()
	s.change(func(pod *corev1.Pod) { pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = group }, func() bool {
		for id, job := range s.Jobs {
			if id != api.JobID("ns/"+group) && job.Tasks["p"] != nil {
				return false
			}
		}
		job := s.Jobs[api.JobID("ns/"+group)]
		if group == "" || job == nil || job.Tasks["p"] == nil {
			return group == ""
		}
		job.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: group}, Spec: scheduling.PodGroupSpec{Queue: "q"}}})
		return true
	})
}

func TestAPodThatIsBeingBoundDoesNotWait(t *testing.T) {
	for _, c := range []struct {
		name string
		// do makes Volcano's cache forget the binding. job is the job of the pod afterwards.
		do  func(*slowBinding)
		job string
	}{
		{"when it is moved to another PodGroup", func(s *slowBinding) { s.move("other") }, "other"},
		{"when it is moved to another PodGroup and back", func(s *slowBinding) { s.move("other"); s.move("job") }, "job"},
		{"when it leaves its PodGroup", func(s *slowBinding) { s.move("") }, ""},
		{"when the cache reads it again", func(s *slowBinding) {
			pod := s.pods.Snapshot().Jobs["ns/job"].Tasks["p"].Pod
			s.DeletePod(pod)
			s.AddPod(pod)
		}, "job"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("and the binding fails", func(t *testing.T) {
				s := newSlowBinding(t)
				c.do(s)
				s.expect(c.job, api.Binding, 2000)
				s.slow <- errors.New("no volume")
				eventually(t, "the pod is being bound", func() bool { return !s.binding() })
				s.expect("", api.Pending, 0)
			})
			t.Run("and the pod is bound", func(t *testing.T) {
				s := newSlowBinding(t)
				c.do(s)
				s.change(func(pod *corev1.Pod) { pod.Spec.NodeName = "n1" }, func() bool { return s.Nodes["n1"].Tasks["ns/p"] != nil })
				s.expect(c.job, api.Bound, 2000)
				if len(s.bindings.tasks) > 0 {
					t.Error("the binding is remembered")
				}
				s.slow <- errors.New("another attempt")
			})
			t.Run("and the pod is deleted", func(t *testing.T) {
				s := newSlowBinding(t)
				c.do(s)
				if err := s.Client().CoreV1().Pods("ns").Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the pod is being bound", func() bool { return !s.binding() })
				s.slow <- errors.New("it is gone")
			})
		})
	}
}

// TestAllPluginsUndoABinding even if a later session has registered others.
func TestAllPluginsUndoABinding(t *testing.T) {
	var undone int
	b := &bindings{}
	b.register("a", countedBinder{&undone})
	b.register("b", countedBinder{&undone})
	bind := &schedulercache.BindContext{TaskInfo: api.NewTaskInfo(wholePod("p", "")), Extensions: map[string]schedulercache.BindContextExtension{}}
	b.begin("p", bind.TaskInfo)
	if err := b.PreBind(t.Context(), bind); err != nil || undone != 0 || len(b.tasks) != 1 {
		t.Fatalf("error %v, %d undone, %d bindings", err, undone, len(b.tasks))
	}
	b.register("a", slowBinder(nil))
	if b.PreBindRollBack(t.Context(), bind); undone != 2 || len(b.tasks) != 0 {
		t.Errorf("%d undone, %d bindings", undone, len(b.tasks))
	}
}

// TestCapacityHearsOfABindingThatPredicatesCannotPrepare: otherwise, it believes that the pod is being bound.
func TestCapacityHearsOfABindingThatPredicatesCannotPrepare(t *testing.T) {
	for range 20 { // in the order of a map, it would hear of half of them
		var undone int
		b := &bindings{}
		b.register("capacity", countedBinder{&undone})
		fails := make(slowBinder, 1)
		fails <- errors.New("its volume is gone")
		b.register("predicates", fails)
		bind := &schedulercache.BindContext{TaskInfo: api.NewTaskInfo(wholePod("p", "")), Extensions: map[string]schedulercache.BindContextExtension{}}
		if err := b.PreBind(t.Context(), bind); err == nil || undone != 1 {
			t.Fatalf("error %v, %d undone", err, undone)
		}
	}
}

// countedBinder counts the bindings that are undone.
type countedBinder struct{ undone *int }

func (b countedBinder) PreBind(context.Context, *schedulercache.BindContext) error   { return nil }
func (b countedBinder) PreBindRollBack(context.Context, *schedulercache.BindContext) { *b.undone++ }
