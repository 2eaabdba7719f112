// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// annotations are the annotations that only the dispatcher writes.
var annotations = []string{binding.HoldAnnotation, binding.GrantAnnotation, binding.RequeueAnnotation, binding.ChangeAnnotation}

// restore restores the dispatcher's annotations and finalizer, and what else it relies on. A binding that is being created gets none of them: the grant in a
// restored backup may not be free any more.
//
// It reports whether it has removed a hold. A user has written the hold, or the webhook itself in an earlier call for the same request.
func restore(old, rb *workv1alpha2.ResourceBinding) (released bool) {
	if old == nil {
		old = &workv1alpha2.ResourceBinding{}
	}
	if has(rb, binding.HoldAnnotation) && !has(old, binding.HoldAnnotation) {
		release(rb)
		released = true
	}
	for _, name := range annotations {
		value, was := old.Annotations[name]
		switch {
		case name == binding.HoldAnnotation && tookOver(old, rb):
		case was && (!has(rb, name) || rb.Annotations[name] != value):
			rb.Annotations = withEntry(rb.Annotations, name, value)
		case !was:
			delete(rb.Annotations, name)
		}
	}
	if has(rb, binding.GrantAnnotation) {
		binding.KeepFollowed(old, rb)
	}
	restoreFinalizer(old, rb)
	// The Works of a binding are found by this label. The binding is charged as long as it has any.
	const id = workv1alpha2.ResourceBindingPermanentIDLabel
	if value := old.Labels[id]; value != "" && rb.Labels[id] != value {
		rb.Labels = withEntry(rb.Labels, id, value)
	}
	return released
}

// tookOver reports whether a hold differs only because it takes over a suspension that others have ended, or because the held one changes or
// another object takes its place. This is the webhook's own answer in an earlier call for the same request: see keepSuspended, hideChange, and replace.
func tookOver(old, rb *workv1alpha2.ResourceBinding) bool {
	was, is := holdOf(old), holdOf(rb)
	if was == nil || is == nil || !rb.Spec.SchedulingSuspended() {
		return false
	}
	with := *was
	with.KeepScheduling = was.KeepScheduling && is.KeepScheduling
	with.Dispatching = was.Dispatching || is.Dispatching && was.Reason == binding.Growing && binding.DispatchingSuspended(rb)
	with.PlacementOnly = was.PlacementOnly && is.PlacementOnly
	if was.Reason == binding.Growing && getsAnother(old, rb) {
		with.Ends, with.PlacementOnly = true, false
	}
	return *is == with
}

// restoreFinalizer restores the finalizer. It keeps the other finalizers and their order. The API server accepts this even during
// deletion, because the binding had the finalizer before.
func restoreFinalizer(old, rb *workv1alpha2.ResourceBinding) {
	was, is := slices.Index(old.Finalizers, binding.Finalizer), slices.Contains(rb.Finalizers, binding.Finalizer)
	switch {
	case was >= 0 && !is:
		rb.Finalizers = slices.Insert(rb.Finalizers, min(was, len(rb.Finalizers)), binding.Finalizer)
	case was < 0 && is:
		rb.Finalizers = slices.DeleteFunc(rb.Finalizers, func(f string) bool { return f == binding.Finalizer })
	}
}

// protected returns warnings for a user who tried to change fields of the dispatcher. Karmada's detector resets
// suspension.dispatching all the time, so there is no warning for this field.
func protected(old, asked, rb *workv1alpha2.ResourceBinding) []string {
	if old == nil {
		old = &workv1alpha2.ResourceBinding{}
	}
	var warnings []string
	warn := func(what string) {
		warnings = append(warnings, fmt.Sprintf("%s: only vc-dispatcher changes %s: it stays as it was", nameOf(rb), what))
	}
	for _, name := range annotations {
		if asked.Annotations[name] != old.Annotations[name] && asked.Annotations[name] != rb.Annotations[name] {
			warn("annotation " + name)
		}
	}
	if slices.Contains(asked.Finalizers, binding.Finalizer) != slices.Contains(rb.Finalizers, binding.Finalizer) {
		warn("finalizer " + binding.Finalizer)
	}
	if has(old, binding.HoldAnnotation) && !asked.Spec.SchedulingSuspended() && !keptByOthers(old) {
		warn("spec.suspension.scheduling while annotation " + binding.HoldAnnotation + " is there")
	}
	return warnings
}

// keptByOthers reports whether scheduling is suspended by others, too.
func keptByOthers(rb *workv1alpha2.ResourceBinding) bool {
	h := holdOf(rb)
	return h != nil && h.KeepScheduling
}

func has(rb *workv1alpha2.ResourceBinding, annotation string) bool {
	_, has := rb.Annotations[annotation]
	return has
}

func withEntry(entries map[string]string, name, value string) map[string]string {
	if entries == nil {
		entries = map[string]string{}
	}
	entries[name] = value
	return entries
}
