// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"
)

// evictSome makes Karmada begin to evict a workload gracefully from one of its clusters, or end an eviction.
func (w *world) evictSome(key string) {
	rb := w.binding(key)
	switch {
	case rb == nil || rb.DeletionTimestamp != nil:
	case len(rb.Spec.GracefulEvictionTasks) > 0 && w.chance(70):
		w.endEvictions(key)
	case len(rb.Spec.Clusters) > 0:
		rb = rb.DeepCopy()
		i := w.rand.IntN(len(rb.Spec.Clusters))
		from := rb.Spec.Clusters[i]
		task := workv1alpha2.GracefulEvictionTask{FromCluster: from.Name}
		if from.Replicas > 0 {
			task.Replicas = ptr.To(from.Replicas)
		}
		if w.chance(50) {
			task.Reason = workv1alpha2.EvictionReasonApplicationFailure
		}
		rb.Spec.Clusters = slices.Delete(rb.Spec.Clusters, i, i+1)
		rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, task)
		w.note("evict %s from %s: %v", key, from.Name, w.write(rb))
	}
}

// endEvictions makes Karmada end all evictions of a workload.
func (w *world) endEvictions(key string) {
	rb := w.binding(key)
	if rb == nil || rb.DeletionTimestamp != nil || len(rb.Spec.GracefulEvictionTasks) == 0 {
		return
	}
	rb = rb.DeepCopy()
	rb.Spec.GracefulEvictionTasks = nil
	w.note("the evictions of %s end: %v", key, w.write(rb))
}
