// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// getsAnother reports whether a granted binding gets a different object than the one that clusters run. A user may delete an object, leave
// its binding behind, and create an object of the same name. Karmada then takes it for the object of the binding.
func getsAnother(old, rb *workv1alpha2.ResourceBinding) bool {
	return old != nil && rb.DeletionTimestamp == nil && has(rb, binding.GrantAnnotation) &&
		old.Spec.Resource.UID != "" && old.Spec.Resource.UID != rb.Spec.Resource.UID
}

// replace admits a new object for a granted binding. No update says what has changed, so the new object waits for all pods that may
// end. If the old object has ended, its grant ends, because the queue may have granted its room to others. So does that of a Volcano Job: its pods do not
// follow the new one, which may have other tasks. An object of another kind is refused: clusters would keep the old one beside it, and its pods would not
// be counted.
func (b *Bindings) replace(old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	state, held := binding.Read(old, nil), holdOf(rb)
	was, is := &old.Spec.Resource, &rb.Spec.Resource
	kind := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
	differs := kind != schema.FromAPIVersionAndKind(was.APIVersion, was.Kind)
	leaves := state.Finished || !differs && kind.GroupKind() == workload.VolcanoJob.GroupKind()
	switch {
	case leaves && (!has(rb, binding.HoldAnnotation) || held != nil && held.Reason == binding.Growing):
		endGrant(old, rb)
		return nil
	case differs:
		response := ctrladmission.Denied(fmt.Sprintf("%s is still that of a %s in %s, which runs in clusters: delete the binding first, or give %s another name",
			nameOf(rb), was.Kind, was.APIVersion, objectOf(rb)))
		return &response
	}
	b.noteChange(old, rb)
	switch {
	case !has(rb, binding.HoldAnnotation):
		h := binding.Hold{Reason: binding.Growing, Ends: true, KeepScheduling: rb.Spec.SchedulingSuspended()}
		if state.Grant != nil {
			h.Queue = state.Grant.Queue
		}
		hold(rb, h)
	case held != nil && held.Reason == binding.Growing:
		keepSuspended(rb)
		held = holdOf(rb)
		held.Ends, held.PlacementOnly = true, false
		hold(rb, *held)
	default:
		keepSuspended(rb)
	}
	return refuseNewClusters(old, rb)
}
