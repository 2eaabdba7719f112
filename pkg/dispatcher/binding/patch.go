// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"cmp"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"
)

// The functions below return JSON merge patches. A patch applies only to the resourceVersion of the binding that it was made
// from, and contains only the fields that it changes. The functions do not change the binding.

// PatchGrant grants a binding what it needs, in place of an earlier grant, and lifts its hold. When the workload is deleted, clusters keep nothing that
// is not charged.
func PatchGrant(rb *workv1alpha2.ResourceBinding, hold *Hold, grant *Grant) []byte {
	p := patchOf(rb)
	p.annotate(GrantAnnotation, ptr.To(grant.Annotation()))
	if hold == nil || hold.Reason != Growing { // a held change starts on its way to the clusters only now
		p.forgetChange(rb)
	}
	p.setFinalizers(withFinalizer(rb))
	if rb.Spec.PreserveResourcesOnDeletion != nil {
		p.spec()["preserveResourcesOnDeletion"] = nil
	}
	if hold != nil {
		p.annotate(HoldAnnotation, nil)
		if !hold.KeepScheduling {
			p.suspend("scheduling", false)
			p.raiseReplicas(rb)
		}
		if hold.Dispatching {
			p.suspend("dispatching", false)
		}
	}
	return p.text()
}

// raiseReplicas gives each cluster the replicas of the binding. Karmada's scheduler, which was suspended, would do so a moment later: until then, clusters that
// were to have fewer would end pods, and make new ones beside them. Only the scheduler knows how it divides replicas.
func (p *patch) raiseReplicas(rb *workv1alpha2.ResourceBinding) {
	if !Divides(rb) {
		p.setReplicas(rb, func(replicas int32) int32 { return max(replicas, rb.Spec.Replicas) })
	}
}

func (p *patch) setReplicas(rb *workv1alpha2.ResourceBinding, replicas func(before int32) int32) {
	clusters := slices.Clone(rb.Spec.Clusters)
	for i := range clusters {
		clusters[i].Replicas = replicas(clusters[i].Replicas)
	}
	if !slices.Equal(clusters, rb.Spec.Clusters) {
		p.spec()["clusters"] = clusters
	}
}

// PatchAdopt records the charge of a binding that runs without a grant.
func PatchAdopt(rb *workv1alpha2.ResourceBinding, grant *Grant) []byte {
	return PatchGrant(rb, nil, grant)
}

// PatchAmounts replaces the grant of a binding. It does not change its suspension.
func PatchAmounts(rb *workv1alpha2.ResourceBinding, grant *Grant) []byte {
	p := patchOf(rb)
	p.annotate(GrantAnnotation, ptr.To(grant.Annotation()))
	p.forgetChange(rb)
	return p.text()
}

// PatchRecord replaces a grant. It keeps the record of an update, because the update may not have been carried out.
func PatchRecord(rb *workv1alpha2.ResourceBinding, grant *Grant) []byte {
	p := patchOf(rb)
	p.annotate(GrantAnnotation, ptr.To(grant.Annotation()))
	return p.text()
}

// forgetChange removes the record of an update that has been stored or has failed.
func (p *patch) forgetChange(rb *workv1alpha2.ResourceBinding) {
	if _, changes := rb.Annotations[ChangeAnnotation]; changes {
		p.annotate(ChangeAnnotation, nil)
	}
}

// PatchChange records that an update of the workload was admitted. Until the update is stored or has failed, the dispatcher makes
// no grant, and shrinks none.
func PatchChange(rb *workv1alpha2.ResourceBinding, change *Change) []byte {
	p := patchOf(rb)
	p.annotate(ChangeAnnotation, ptr.To(change.Annotation()))
	return p.text()
}

// PatchHoldGrowth is PatchChange for an update that needs more than the grant: it also hides the update from member clusters.
// Hold is the current hold, nil if there is none. A binding that waits or is being taken back is held already. Growth says why it is held.
func PatchHoldGrowth(rb *workv1alpha2.ResourceBinding, hold *Hold, growth Hold, change *Change) []byte {
	if hold != nil && hold.Reason != Growing {
		return PatchChange(rb, change)
	}
	p := patchOf(rb)
	p.annotate(ChangeAnnotation, ptr.To(change.Annotation()))
	scheduling, dispatching := rb.Spec.SchedulingSuspended(), DispatchingSuspended(rb)
	next := growth
	next.Reason, next.Dispatching, next.KeepScheduling = Growing, !dispatching, scheduling
	if hold != nil { // clusters have not seen what this update replaces
		next = *hold
		next.Dispatching, next.PlacementOnly = hold.Dispatching || !dispatching, false
		next.KeepScheduling, next.Tasks = hold.KeepScheduling && scheduling, cmp.Or(hold.Tasks, growth.Tasks)
	}
	next.Ends = next.Ends || growth.Ends
	p.annotate(HoldAnnotation, ptr.To(next.Annotation()))
	p.suspend("scheduling", true)
	p.suspend("dispatching", true)
	return p.text()
}

// PatchPlacementOnly lets clusters see the workload of a held binding. Only its placement still waits. Each cluster gets at most a number of
// replicas: Karmada's scheduler, which is suspended, would lower them.
func PatchPlacementOnly(rb *workv1alpha2.ResourceBinding, hold Hold, most int32) []byte {
	hold.Dispatching, hold.PlacementOnly, hold.Tasks = false, true, ""
	p := patchOf(rb)
	p.annotate(HoldAnnotation, ptr.To(hold.Annotation()))
	p.suspend("dispatching", false)
	p.setReplicas(rb, func(replicas int32) int32 { return min(replicas, most) })
	return p.text()
}

// PatchTakeBack begins to take a grant back. It removes the workload from all clusters, also from those that evict it: with purgeMode Never, they
// keep it until a user lets them go on. The workload stays charged until its Works are gone. Hold is the current hold, nil if there is none.
func PatchTakeBack(rb *workv1alpha2.ResourceBinding, hold *Hold, queue string, requeue *Requeue) []byte {
	return takeBack(rb, hold, queue, requeue).text()
}

// PatchTakeBackAs is PatchTakeBack for a workload that has got more than it was granted. Grant is what it stays charged for.
func PatchTakeBackAs(rb *workv1alpha2.ResourceBinding, hold *Hold, grant *Grant, requeue *Requeue) []byte {
	p := takeBack(rb, hold, grant.Queue, requeue)
	p.annotate(GrantAnnotation, ptr.To(grant.Annotation()))
	return p.text()
}

func takeBack(rb *workv1alpha2.ResourceBinding, hold *Hold, queue string, requeue *Requeue) patch {
	next := Hold{Reason: Returning, Queue: queue, KeepScheduling: hold == nil && rb.Spec.SchedulingSuspended()}
	if hold != nil {
		next = *hold
		next.Reason, next.Queue = Returning, cmp.Or(hold.Queue, queue)
	}
	p := patchOf(rb)
	p.annotate(HoldAnnotation, ptr.To(next.Annotation()))
	p.annotate(RequeueAnnotation, ptr.To(requeue.Annotation()))
	p.suspend("scheduling", true)
	p.spec()["clusters"] = nil
	if len(rb.Spec.GracefulEvictionTasks) > 0 {
		p.spec()["gracefulEvictionTasks"] = nil
	}
	return p
}

// PatchEndGrant ends a grant that was taken back. The binding waits again.
func PatchEndGrant(rb *workv1alpha2.ResourceBinding, hold *Hold) []byte {
	next := *hold
	next.Reason = Waiting
	p := patchOf(rb)
	p.annotate(HoldAnnotation, ptr.To(next.Annotation()))
	p.annotate(GrantAnnotation, nil)
	p.setFinalizers(withoutFinalizer(rb))
	return p.text()
}

// PatchRemoveFinalizer releases a binding that is being deleted.
func PatchRemoveFinalizer(rb *workv1alpha2.ResourceBinding) []byte {
	p := patchOf(rb)
	p.setFinalizers(withoutFinalizer(rb))
	return p.text()
}

// PatchForgetRequeue removes the record of unsuccessful grants from a binding that a cluster runs.
func PatchForgetRequeue(rb *workv1alpha2.ResourceBinding) []byte {
	p := patchOf(rb)
	p.annotate(RequeueAnnotation, nil)
	return p.text()
}

// PatchDropStatus removes what clusters have reported. It is for the subresource status.
func PatchDropStatus(rb *workv1alpha2.ResourceBinding) []byte {
	p := patchOf(rb)
	part(p, "status")["aggregatedStatus"] = nil
	return p.text()
}

// DispatchingSuspended reports whether clusters do not get changes of the object.
func DispatchingSuspended(rb *workv1alpha2.ResourceBinding) bool {
	return rb.Spec.Suspension != nil && ptr.Deref(rb.Spec.Suspension.Dispatching, false)
}

func withFinalizer(rb *workv1alpha2.ResourceBinding) []string {
	return append(withoutFinalizer(rb), Finalizer)
}

func withoutFinalizer(rb *workv1alpha2.ResourceBinding) []string {
	return slices.DeleteFunc(slices.Clone(rb.Finalizers), func(f string) bool { return f == Finalizer })
}

// patch is a JSON merge patch. Nil removes a field.
type patch map[string]any

func patchOf(rb *workv1alpha2.ResourceBinding) patch {
	return patch{"metadata": map[string]any{"resourceVersion": rb.ResourceVersion}}
}

func (p patch) text() []byte { return []byte(encode(p)) }

// part returns a nested object, and adds it if it is missing.
func part(of map[string]any, name string) map[string]any {
	inner, is := of[name].(map[string]any)
	if !is {
		inner = map[string]any{}
		of[name] = inner
	}
	return inner
}

func (p patch) spec() map[string]any { return part(p, "spec") }

// annotate sets an annotation, or removes it if the text is nil.
func (p patch) annotate(name string, text *string) {
	part(part(p, "metadata"), "annotations")[name] = text
}

func (p patch) suspend(field string, suspended bool) {
	part(p.spec(), "suspension")[field] = suspended
}

// setFinalizers sets the whole list, because a merge patch cannot change an entry of it.
func (p patch) setFinalizers(finalizers []string) {
	part(p, "metadata")["finalizers"] = finalizers
}
