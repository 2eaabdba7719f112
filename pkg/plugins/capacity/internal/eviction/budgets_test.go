// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

func running(name string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "x"}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(pod)
	}
	return pod
}

func unready(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func starting(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	unready(pod)
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

func targeted(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
}

// budgetOf is a budget for all pods with the label, with these numbers of current and desired healthy pods.
func budgetOf(healthy, desired int32, change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "budget", Generation: 2}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 2, CurrentHealthy: healthy, DesiredHealthy: desired, DisruptionsAllowed: max(0, healthy-desired), ExpectedPods: healthy,
	}
	if change != nil {
		change(budget)
	}
	return budget
}

func TestBudgets(t *testing.T) {
	type pods = []*corev1.Pod
	type list = []*policyv1.PodDisruptionBudget
	named := func(name string) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Name = name }
	}
	policy := func(policy policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policy) }
	}
	for _, test := range []struct {
		name    string
		pods    pods
		budgets list
		// releasing is a pod that the session has evicted.
		releasing string
		victims   []string
		want      bool
	}{
		{"as many as are allowed", pods{running("a", nil), running("b", nil)}, list{budgetOf(2, 1, nil)}, "", []string{"a"}, true},
		{"one too many", pods{running("a", nil), running("b", nil)}, list{budgetOf(2, 1, nil)}, "", []string{"a", "b"}, false},
		{"other pods", pods{running("a", func(p *corev1.Pod) { p.Labels = nil })}, list{budgetOf(0, 0, nil)}, "", []string{"a"}, true},
		{"a status of an older spec", pods{running("a", nil), running("b", nil)},
			list{budgetOf(2, 1, func(b *policyv1.PodDisruptionBudget) { b.Generation = 3 })}, "", []string{"a"}, false},
		{"no status yet", pods{running("a", nil)}, list{budgetOf(0, 0, func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 0 })}, "", []string{"a"}, false},
		{"a pod that the session has evicted, of which the status does not know", pods{running("a", nil), running("b", nil)}, list{budgetOf(2, 1, nil)}, "b", []string{"a"}, false},
		{"a pod that somebody has deleted", pods{running("a", nil), running("b", deleted)}, list{budgetOf(2, 1, nil)}, "", []string{"a"}, false},
		{"a pod that is about to be deleted", pods{running("a", nil), running("b", targeted)}, list{budgetOf(2, 1, nil)}, "", []string{"a"}, false},
		{"a pod that is no longer ready", pods{running("a", nil), running("b", unready)}, list{budgetOf(2, 1, nil)}, "", []string{"a"}, false},
		{"a pod that is evicted once more", pods{running("a", targeted), running("b", nil)}, list{budgetOf(1, 1, nil)}, "", []string{"a"}, true},
		{"a pod that the Eviction API has counted", pods{running("a", nil), running("b", nil)},
			list{budgetOf(1, 1, func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = map[string]metav1.Time{"a": {}} })}, "", []string{"a"}, true},
		{"a status that knows of fewer healthy pods", pods{running("a", nil), running("b", nil)}, list{budgetOf(1, 1, nil)}, "", []string{"a"}, false},
		{"several budgets, of which one allows nothing", pods{running("a", nil), running("b", nil)}, list{budgetOf(2, 1, nil), budgetOf(2, 2, named("other"))}, "", []string{"a"}, false},
		{"several budgets that allow it", pods{running("a", nil), running("b", nil)}, list{budgetOf(2, 1, nil), budgetOf(2, 0, named("other"))}, "", []string{"a"}, true},
		{"a pod that has not started", pods{running("a", starting), running("b", nil)}, list{budgetOf(1, 2, nil)}, "", []string{"a"}, true},
		{"a pod that is not ready, of a budget that is kept", pods{running("a", unready), running("b", nil)}, list{budgetOf(1, 1, nil)}, "", []string{"a"}, true},
		{"a pod that is not ready, of a budget that is not kept any more", pods{running("a", unready), running("b", deleted)}, list{budgetOf(1, 1, nil)}, "", []string{"a"}, false},
		{"a pod that is not ready and may always go", pods{running("a", unready), running("b", deleted)},
			list{budgetOf(1, 1, policy(policyv1.AlwaysAllow))}, "", []string{"a"}, true},
		{"a pod that is ready, of a budget by which others may always go", pods{running("a", nil)}, list{budgetOf(1, 1, policy(policyv1.AlwaysAllow))}, "", []string{"a"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tasks := map[string]*api.TaskInfo{}
			podStore := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
			for _, pod := range test.pods {
				_ = podStore.Add(pod) // an indexer of objects with metadata returns no error
				tasks[pod.Name] = api.NewTaskInfo(pod)
			}
			budgetStore := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
			for _, budget := range test.budgets {
				_ = budgetStore.Add(budget)
			}
			job := api.NewJobInfo("job")
			if task := tasks[test.releasing]; task != nil {
				task.Status = api.Releasing
				job.AddTaskInfo(task)
			}
			b := &budgets{
				session: &framework.Session{Jobs: map[api.JobID]*api.JobInfo{"job": job}},
				lister:  policylisters.NewPodDisruptionBudgetLister(budgetStore), pods: corelisters.NewPodLister(podStore),
			}
			var victims []*api.TaskInfo
			for _, name := range test.victims {
				victims = append(victims, tasks[name])
			}
			for range 2 {
				if got := b.hold(victims); got != test.want {
					t.Errorf("the budgets hold: %t, want %t", got, test.want)
				}
				b.recount()
			}
		})
	}
}

// TestBudgetsOfAPlan: a plan evicts pods, and undoes evictions.
func TestBudgetsOfAPlan(t *testing.T) {
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	budgetStore := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	_ = budgetStore.Add(budgetOf(2, 1, nil))
	var tasks []*api.TaskInfo
	for _, name := range []string{"a", "b"} {
		pod := running(name, nil)
		_ = store.Add(pod)
		tasks = append(tasks, api.NewTaskInfo(pod))
	}
	b := &budgets{session: &framework.Session{}, lister: policylisters.NewPodDisruptionBudgetLister(budgetStore), pods: corelisters.NewPodLister(store)}
	holds := func(want bool) {
		t.Helper()
		if got := b.hold(tasks[1:]); got != want {
			t.Errorf("the budget holds: %t, want %t", got, want)
		}
	}
	holds(true)
	b.spend([]Victim{{TaskInfo: tasks[0]}})
	holds(false)
	b.refund([]Victim{{TaskInfo: tasks[0]}})
	holds(true)
}

// TestAPodWithTooManyBudgetsIsNotEvicted, and its budgets are not counted. Other pods of the namespace may go.
func TestAPodWithTooManyBudgetsIsNotEvicted(t *testing.T) {
	pods := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	b := &budgets{session: &framework.Session{}, pods: corelisters.NewPodLister(pods), lister: policylisters.NewPodDisruptionBudgetLister(store)}
	pod, other := running("a", nil), running("b", func(p *corev1.Pod) { p.Labels = nil })
	_, _ = pods.Add(pod), pods.Add(other)
	for i := range maxCovering + 1 {
		_ = store.Add(budgetOf(1, 0, func(b *policyv1.PodDisruptionBudget) { b.Name = fmt.Sprint("budget", i) }))
		b.read, b.covering = false, nil
		if got, want := b.hold([]*api.TaskInfo{api.NewTaskInfo(pod)}), i < maxCovering; got != want {
			t.Errorf("a pod with %d budgets can be evicted: %t", i+1, got)
		}
	}
	for _, budget := range b.all["ns"] {
		if budget.counted {
			t.Errorf("%s is counted", budget.Name)
		}
	}
	if !b.hold([]*api.TaskInfo{api.NewTaskInfo(other)}) {
		t.Error("another pod cannot be evicted")
	}
}

// TestBudgetsThatSelectByTooMuch: no pod is evicted where it would take long to match the budgets with pods.
func TestBudgetsThatSelectByTooMuch(t *testing.T) {
	for requirements, want := range map[int]bool{maxRequirements: true, maxRequirements + 1: false} {
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		for i := range 2 {
			values := make([]string, requirements/2-2+i*(requirements%2))
			for j := range values {
				values[j] = fmt.Sprint("v", j)
			}
			_ = store.Add(budgetOf(0, 0, func(b *policyv1.PodDisruptionBudget) {
				b.Name = fmt.Sprint("budget", i)
				b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}}}
			}))
		}
		b := &budgets{session: &framework.Session{}, lister: policylisters.NewPodDisruptionBudgetLister(store)}
		if got := b.hold([]*api.TaskInfo{api.NewTaskInfo(running("a", nil))}); got != want {
			t.Errorf("with %d requirements, the budgets hold: %t, want %t", requirements, got, want)
		}
	}
	b := &budgets{session: &framework.Session{}}
	if !b.hold([]*api.TaskInfo{api.NewTaskInfo(running("a", nil))}) {
		t.Error("no budget allows nothing")
	}
}
