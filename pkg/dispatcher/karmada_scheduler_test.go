// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"maps"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func divides(p *policyv1alpha1.Placement) bool {
	return p.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided
}

// schedule acts as Karmada's scheduler for the version of a binding that it has seen.
func (w *world) schedule(key string) {
	saw, rb := w.scheduler[key], w.binding(key)
	if saw == nil || rb == nil || saw.UID != rb.UID || saw.Spec.SchedulingSuspended() || saw.Spec.Placement == nil || saw.DeletionTimestamp != nil {
		return
	}
	placement, _ := json.Marshal(saw.Spec.Placement)
	targets := w.choose(saw)
	if targets == nil {
		w.refuseClusters(rb.DeepCopy())
		return
	}
	next := rb.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[appliedPlacement] = string(placement)
	next.Spec.Clusters = targets
	if !w.write(next) {
		return
	}
	next = w.binding(key).DeepCopy()
	next.Status.SchedulerObservedGeneration, next.Status.LastScheduledTime = saw.Generation, &metav1.Time{Time: w.clock}
	meta.SetStatusCondition(&next.Status.Conditions, w.condition(workv1alpha2.Scheduled, metav1.ConditionTrue, "Success"))
	w.put(bindings, next)
}

// refuseClusters notes that the scheduler finds no cluster for a binding.
func (w *world) refuseClusters(rb *workv1alpha2.ResourceBinding) {
	if meta.SetStatusCondition(&rb.Status.Conditions, w.condition(workv1alpha2.Scheduled, metav1.ConditionFalse, "NoClusterFit")) {
		w.put(bindings, rb)
	}
}

// choose returns the clusters for a binding, nil if there are none. Unless the placement or the replicas change, or the workload is evicted from all of
// them, they stay the same, and sometimes others are added that the placement admits.
func (w *world) choose(rb *workv1alpha2.ResourceBinding) []workv1alpha2.TargetCluster {
	follows := rb.Annotations[appliedPlacement] == string(must(json.Marshal(rb.Spec.Placement)))
	names := mayHave(rb)
	divided := divides(rb.Spec.Placement) && rb.Spec.Replicas > 0
	switch {
	case follows && len(rb.Spec.Clusters) > 0 && divided:
		return w.divide(rb, names, rb.Spec.Clusters)
	case follows && len(rb.Spec.Clusters) > 0:
		others := slices.DeleteFunc(names, func(name string) bool { return w.down[name] })
		names = nil
		for _, c := range rb.Spec.Clusters {
			names = append(names, c.Name)
		}
		if len(rb.Spec.Placement.SpreadConstraints) == 0 && w.chance(30) {
			names = append(names, others...)
			slices.Sort(names)
			names = slices.Compact(names)
		}
	case len(names) == 0:
		return nil
	case divided:
		return w.divide(rb, names, nil)
	}
	w.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if c := rb.Spec.Placement.SpreadConstraints; len(c) > 0 {
		names = names[:1]
	}
	slices.Sort(names)
	var targets []workv1alpha2.TargetCluster
	for _, name := range names {
		targets = append(targets, workv1alpha2.TargetCluster{Name: name, Replicas: rb.Spec.Replicas})
	}
	return targets
}

// mayHave returns the clusters that a placement admits and that do not evict the workload: those of the first group that has any.
func mayHave(rb *workv1alpha2.ResourceBinding) (names []string) {
	var groups []policyv1alpha1.ClusterAffinity
	if rb.Spec.Placement.ClusterAffinity != nil {
		groups = append(groups, *rb.Spec.Placement.ClusterAffinity)
	}
	for _, term := range rb.Spec.Placement.ClusterAffinities {
		groups = append(groups, term.ClusterAffinity)
	}
	for i := 0; i < len(groups) && len(names) == 0; i++ {
		names = slices.DeleteFunc(slices.Clone(groups[i].ClusterNames), func(name string) bool {
			return slices.ContainsFunc(rb.Spec.GracefulEvictionTasks, func(task workv1alpha2.GracefulEvictionTask) bool { return task.FromCluster == name })
		})
	}
	return names
}

// divide divides the replicas of a binding at random. Clusters keep those that they have, if possible.
func (w *world) divide(rb *workv1alpha2.ResourceBinding, names []string, has []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	replicas := map[string]int32{}
	rest := rb.Spec.Replicas
	for _, c := range has {
		if c.Replicas > 0 {
			replicas[c.Name] = c.Replicas
			rest -= c.Replicas
		}
	}
	for ; rest < 0; rest++ {
		some := slices.Sorted(maps.Keys(replicas))
		name := some[w.rand.IntN(len(some))]
		if replicas[name]--; replicas[name] == 0 {
			delete(replicas, name)
		}
	}
	for ; rest > 0 && len(names) > 0; rest-- {
		replicas[names[w.rand.IntN(len(names))]]++
	}
	targets := []workv1alpha2.TargetCluster{}
	for _, name := range slices.Sorted(maps.Keys(replicas)) {
		targets = append(targets, workv1alpha2.TargetCluster{Name: name, Replicas: replicas[name]})
	}
	return targets
}
