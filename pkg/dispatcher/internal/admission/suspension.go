// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// hold suspends a binding and says so in its annotation.
func hold(rb *workv1alpha2.ResourceBinding, h binding.Hold) {
	s := suspensionOf(rb)
	s.Scheduling = ptr.To(true)
	if (h.Reason == binding.Growing || h.Dispatching) && !binding.DispatchingSuspended(rb) {
		s.Dispatching, h.Dispatching = ptr.To(true), true
	}
	if current := holdOf(rb); current == nil || *current != h {
		rb.Annotations = withEntry(rb.Annotations, binding.HoldAnnotation, h.Annotation())
	}
}

// keepSuspended suspends what the hold of a binding stands for. Karmada's detector resets suspension.dispatching to that of
// the policy whenever the object changes. Who else had suspended the binding when the hold began may resume it: then it is
// the dispatcher alone that suspends it.
func keepSuspended(rb *workv1alpha2.ResourceBinding) {
	h := holdOf(rb)
	if h == nil { // it stays as it is, for people to see, and the dispatcher reports it
		suspensionOf(rb).Scheduling = ptr.To(true)
		return
	}
	h.KeepScheduling = h.KeepScheduling && rb.Spec.SchedulingSuspended()
	hold(rb, *h)
}

// release undoes what the hold of a binding stands for.
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

// holdOf returns the hold of a binding, nil if there is none or it cannot be read.
func holdOf(rb *workv1alpha2.ResourceBinding) *binding.Hold {
	h, err := binding.ParseHold(rb.Annotations[binding.HoldAnnotation])
	if err != nil {
		return nil
	}
	return h
}

// refuseNewClusters refuses clusters and replicas that a held binding did not have. Karmada's scheduler goes on with
// bindings that it had queued before they were suspended. Karmada makes Works for the clusters of what requires the binding,
// too, and does not ask whether scheduling is suspended.
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

// targets returns the clusters that Karmada makes Works for, those of spec.clusters first.
func targets(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetCluster {
	all := slices.Clone(spec.Clusters)
	for i := range spec.RequiredBy {
		all = append(all, spec.RequiredBy[i].Clusters...)
	}
	return all
}
