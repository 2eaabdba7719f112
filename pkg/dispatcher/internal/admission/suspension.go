// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// hold suspends a binding and records the hold in its annotation.
func hold(rb *workv1alpha2.ResourceBinding, h binding.Hold) {
	s := suspensionOf(rb)
	s.Scheduling = ptr.To(true)
	if (h.Reason == binding.Growing && !h.PlacementOnly || h.Dispatching) && !binding.DispatchingSuspended(rb) {
		s.Dispatching, h.Dispatching = ptr.To(true), true
	}
	if current := holdOf(rb); current == nil || *current != h {
		rb.Annotations = withEntry(rb.Annotations, binding.HoldAnnotation, h.Annotation())
	}
}

// keepSuspended restores the suspensions of a hold. Karmada's detector resets suspension.dispatching to the policy's value whenever
// the object changes. If others have suspended the binding too, they may resume it. Then only the dispatcher suspends it.
func keepSuspended(rb *workv1alpha2.ResourceBinding) {
	h := holdOf(rb)
	if h == nil { // it stays unchanged for people to see, and the dispatcher reports it
		suspensionOf(rb).Scheduling = ptr.To(true)
		return
	}
	h.KeepScheduling = h.KeepScheduling && rb.Spec.SchedulingSuspended()
	hold(rb, *h)
}

// hideChange suspends dispatching, too, if only the placement of a workload is held and the workload may need more, whose kind is not read: no webhook has
// asked whether it grows.
func hideChange(old, rb *workv1alpha2.ResourceBinding) {
	h := holdOf(rb)
	if h == nil || !h.PlacementOnly || isKnown(rb) {
		return
	}
	c := change{before: cmp.Or(workload.OfBinding(old), workload.WithoutPods(old)), after: workload.OfBinding(rb)}
	if c.after != nil && !c.needsNoMore() {
		h.PlacementOnly = false
		hold(rb, *h)
	}
}

// release removes the suspensions of a hold.
func release(rb *workv1alpha2.ResourceBinding) {
	h, s := holdOf(rb), rb.Spec.Suspension
	delete(rb.Annotations, binding.HoldAnnotation)
	if h == nil || s == nil {
		return
	}
	if !h.KeepScheduling {
		s.Scheduling = nil
	}
	if h.Dispatching {
		s.Dispatching = nil
	}
	if *s == (workv1alpha2.Suspension{}) {
		rb.Spec.Suspension = nil
	}
}

func suspensionOf(rb *workv1alpha2.ResourceBinding) *workv1alpha2.Suspension {
	if rb.Spec.Suspension == nil {
		rb.Spec.Suspension = &workv1alpha2.Suspension{}
	}
	return rb.Spec.Suspension
}

// holdOf returns the hold of a binding, nil if it is missing or unreadable.
func holdOf(rb *workv1alpha2.ResourceBinding) *binding.Hold {
	h, err := binding.ParseHold(rb.Annotations[binding.HoldAnnotation])
	if err != nil {
		return nil
	}
	return h
}

// refuseNewClusters refuses additional clusters and replicas of a held binding. Karmada's scheduler may still process bindings that
// it queued before they were suspended. Karmada also makes Works for the clusters in spec.requiredBy, even if scheduling is suspended.
func refuseNewClusters(old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	replicas := map[string]int32{}
	for _, c := range targets(&old.Spec) {
		replicas[c.Name] = max(replicas[c.Name], c.Replicas)
	}
	for i, c := range targets(&rb.Spec) {
		if before, was := replicas[c.Name]; !was || c.Replicas > before {
			field := "spec.clusters"
			if i >= len(rb.Spec.Clusters) {
				field = "spec.requiredBy"
			}
			response := ctrladmission.Denied(fmt.Sprintf("%s: %s cannot get %s (%d replicas) now, because vc-dispatcher holds %s until "+
				"its queue has room: %s=%s. Nothing needs to be done: the scheduler is asked again then",
				nameOf(rb), field, c.Name, c.Replicas, objectOf(rb), binding.HoldAnnotation, rb.Annotations[binding.HoldAnnotation]))
			return &response
		}
	}
	return nil
}

// targets returns the clusters that Karmada makes Works for, the clusters of spec.clusters first.
func targets(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetCluster {
	all := slices.Clone(spec.Clusters)
	for i := range spec.RequiredBy {
		all = append(all, spec.RequiredBy[i].Clusters...)
	}
	return all
}
