// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// budgets has the PodDisruptionBudgets of a session. They hold whether or not upstream's plugin pdb is configured.
type budgets struct {
	read bool
	// all has the budgets of each namespace.
	all map[string][]budget
}

type budget struct {
	selector labels.Selector
	// allowed is how many more pods may go.
	allowed int32
	status  *policyv1.PodDisruptionBudgetStatus
}

// hold reports whether all budgets hold if these pods are evicted.
func (b *budgets) hold(lister policylisters.PodDisruptionBudgetLister, victims []*api.TaskInfo) bool {
	b.list(lister)
	if len(b.all) == 0 {
		return true
	}
	counts := map[*budget]int32{}
	for _, victim := range victims {
		for i := range b.all[victim.Namespace] {
			budget := &b.all[victim.Namespace][i]
			if !budget.covers(victim) {
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
		for i := range b.all[victim.Namespace] {
			if budget := &b.all[victim.Namespace][i]; budget.covers(victim.TaskInfo) {
				budget.allowed += more
			}
		}
	}
}

// covers reports whether an eviction counts. A pod that the API server has been asked to evict counts already.
func (b *budget) covers(victim *api.TaskInfo) bool {
	_, counted := b.status.DisruptedPods[victim.Name]
	return !counted && b.selector.Matches(labels.Set(victim.Pod.Labels))
}

func (b *budgets) list(lister policylisters.PodDisruptionBudgetLister) {
	if b.read || lister == nil {
		return
	}
	b.read = true
	objects, err := lister.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list PodDisruptionBudgets")
		return
	}
	for _, object := range objects {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil || selector.Empty() && object.Spec.Selector == nil {
			continue // it selects nothing
		}
		if b.all == nil {
			b.all = map[string][]budget{}
		}
		b.all[object.Namespace] = append(b.all[object.Namespace], budget{selector, object.Status.DisruptionsAllowed, &object.Status})
	}
}
