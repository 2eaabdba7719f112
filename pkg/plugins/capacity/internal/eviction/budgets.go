// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// budgets has the PodDisruptionBudgets of a session. They apply by the rules of the Eviction API, whether or not upstream's plugin pdb is
// configured. The Eviction API itself could refuse some victims of a set after others have been evicted, so the scheduler deletes pods.
type budgets struct {
	session *framework.Session
	// lister is nil if budgets are not read.
	lister policylisters.PodDisruptionBudgetLister
	pods   corelisters.PodLister
	read   bool
	// all has the budgets of each namespace. covering has the budgets that select a pod, at most maxCovering and one.
	all      map[string][]*budget
	covering map[types.UID][]*budget
	// excessive has the namespaces whose budgets have more than maxRequirements requirements.
	excessive map[string]bool
	// releasing has the pods that are leaving, according to the session. It is nil until something is counted.
	releasing map[types.UID]bool
}

// maxRequirements is the maximum number of labels and label values in the selectors of a namespace's budgets. In namespaces with more, no
// pod is evicted: each pod would be compared with all of them.
const maxRequirements = 1024

// maxCovering is the maximum number of budgets of a pod. A pod with more is not evicted: each of them would be counted, and asked for each set of
// victims. The Eviction API evicts no pod with more than one.
const maxCovering = 8

type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
	// pods are the pods that the budget selects. listed says that they have been listed. Later changes count in the next session.
	pods   []*corev1.Pod
	listed bool
	// counted says that allowed and kept are up to date.
	counted bool
	// allowed is the number of pods that may still go.
	allowed int32
	// kept says that there are enough healthy pods.
	kept bool
}

// hold reports whether all budgets still hold after the eviction of these pods.
func (b *budgets) hold(victims []*api.TaskInfo) bool {
	counts := map[*budget]int32{}
	for _, victim := range victims {
		all := b.of(victim.Pod)
		if b.excessive[victim.Namespace] || len(all) > maxCovering {
			return false
		}
		for _, budget := range all {
			if !b.spends(budget, victim.Pod) {
				continue
			}
			if counts[budget]++; counts[budget] > budget.allowed {
				return false
			}
		}
	}
	return true
}

// spend notes that pods are evicted.
func (b *budgets) spend(victims []Victim) { b.allow(victims, -1) }

// refund notes that pods are not evicted after all.
func (b *budgets) refund(victims []Victim) { b.allow(victims, 1) }

func (b *budgets) allow(victims []Victim, more int32) {
	for _, victim := range victims {
		for _, budget := range b.of(victim.Pod) {
			if b.spends(budget, victim.Pod) {
				budget.allowed += more
			}
		}
	}
}

// recount forgets all counts, because other actions may have evicted pods since.
func (b *budgets) recount() {
	b.releasing = nil
	for _, all := range b.all {
		for _, budget := range all {
			budget.counted = false
		}
	}
}

// spends reports whether the eviction of a pod counts against a budget that selects it. As in the Eviction API, pods that have not started do not
// count. Pods that are not ready do not count if the budget is kept, or its policy does not protect them. A pod that the budget has already lost does
// not count twice.
func (b *budgets) spends(budget *budget, pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodPending {
		return false
	}
	if !budget.counted {
		b.count(budget)
	}
	switch {
	case budget.lost(pod):
		return false
	case isReady(pod):
		return true
	default:
		return !budget.kept && ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) != policyv1.AlwaysAllow
	}
}

// count determines how many pods may go. The status of a budget is updated some time after pods have gone, and does not say which of them
// it includes. Therefore, healthy pods are counted here, too, and the smaller number applies. Earlier sessions need not be remembered: the cache of
// the scheduler shows an evicted pod as releasing until the pod is gone.
func (b *budgets) count(budget *budget) {
	budget.counted, budget.allowed, budget.kept = true, 0, false
	status := &budget.Status
	if status.ObservedGeneration < budget.Generation {
		return // it is about another spec
	}
	if !budget.listed {
		pods, err := b.pods.Pods(budget.Namespace).List(budget.selector)
		if err != nil {
			klog.ErrorS(err, "Failed to list the pods of a PodDisruptionBudget", "budget", klog.KObj(budget))
			return
		}
		budget.pods, budget.listed = pods, true
	}
	b.findReleasing()
	var healthy int32
	for _, pod := range budget.pods {
		if isReady(pod) && !budget.lost(pod) && !b.releasing[pod.UID] {
			healthy++
		}
	}
	budget.allowed = max(0, min(status.DisruptionsAllowed, healthy-status.DesiredHealthy))
	budget.kept = status.DesiredHealthy > 0 && min(status.CurrentHealthy, healthy) >= status.DesiredHealthy
}

func (b *budgets) findReleasing() {
	if b.releasing != nil {
		return
	}
	b.releasing = map[types.UID]bool{}
	for _, job := range b.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Releasing] {
			b.releasing[task.Pod.UID] = true
		}
	}
}

// lost reports whether the API server shows a pod as leaving: it is being deleted, or is about to be.
func (b *budget) lost(pod *corev1.Pod) bool {
	_, evicted := b.Status.DisruptedPods[pod.Name]
	return evicted || pod.DeletionTimestamp != nil || hasCondition(pod, corev1.DisruptionTarget)
}

func isReady(pod *corev1.Pod) bool { return hasCondition(pod, corev1.PodReady) }

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// of returns the budgets that select a pod.
func (b *budgets) of(pod *corev1.Pod) []*budget {
	if !b.read && b.lister != nil {
		b.list()
	}
	all, known := b.covering[pod.UID]
	if known || len(b.all[pod.Namespace]) == 0 {
		return all
	}
	for _, budget := range b.all[pod.Namespace] {
		if budget.selector.Matches(labels.Set(pod.Labels)) {
			if all = append(all, budget); len(all) > maxCovering {
				break
			}
		}
	}
	b.covering[pod.UID] = all
	return all
}

func (b *budgets) list() {
	b.read, b.all, b.covering, b.excessive = true, map[string][]*budget{}, map[types.UID][]*budget{}, map[string]bool{}
	objects, err := b.lister.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list PodDisruptionBudgets")
		return
	}
	requirements := map[string]int{}
	for _, object := range objects {
		requirements[object.Namespace] += requirementsOf(object.Spec.Selector)
		if requirements[object.Namespace] > maxRequirements {
			b.excessive[object.Namespace] = true
			delete(b.all, object.Namespace)
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil || selector.Empty() && object.Spec.Selector == nil {
			continue // it selects nothing
		}
		b.all[object.Namespace] = append(b.all[object.Namespace], &budget{PodDisruptionBudget: object, selector: selector})
	}
}

// requirementsOf returns the number of labels and label values in a selector. A selector of everything counts, too.
func requirementsOf(selector *metav1.LabelSelector) int {
	if selector == nil {
		return 0
	}
	all := 1 + len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		all += 1 + len(selector.MatchExpressions[i].Values)
	}
	return all
}
