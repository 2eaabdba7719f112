// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// BindingsPath is where the webhook configuration finds Bindings.
const BindingsPath = "/mutate-resourcebinding"

// Bindings is the mutating webhook for ResourceBindings.
//
// Its answer depends only on the request and on the objects that its functions read, because other webhooks may make the API server
// call it again. An update that only reverts the webhook's changes therefore changes nothing, and Karmada's controllers do not loop.
type Bindings struct {
	// User is the user name of the dispatcher. Its updates are admitted unchanged, unless they are late. It creates no bindings.
	User string
	// ManageWorkloadsWithoutQueue is the field of the configuration.
	ManageWorkloadsWithoutQueue bool
	// Template reads the object of a binding, at least as new as the version in the binding. An object with another UID is not found. A
	// template with an error means that the object is wrong. Neither a template nor an error means that the object is not a workload.
	Template func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error)
	// Now returns the time.
	Now func() time.Time
	// Exceeds returns by how much a workload exceeds the grant of its binding. The error says why it cannot be counted.
	Exceeds func(*workload.Template, *workv1alpha2.ResourceBinding) ([]binding.Amount, error)
	// Spares reports whether the grant of a binding exceeds the needs of a workload.
	Spares func(*workload.Template, *workv1alpha2.ResourceBinding) bool
	// Told reports whether a cluster has been told to run a workload as it is now.
	Told func(*workload.Template, *workv1alpha2.ResourceBinding) bool
}

// Handle answers one request.
func (b *Bindings) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	if b.User != "" && req.UserInfo.Username == b.User && req.Operation == admissionv1.Update {
		return b.refuseLate(req)
	}
	rb, err := decode[*workv1alpha2.ResourceBinding](req.Object.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	var old *workv1alpha2.ResourceBinding
	if req.Operation == admissionv1.Update {
		if old, err = decode[*workv1alpha2.ResourceBinding](req.OldObject.Raw); err != nil {
			return ctrladmission.Errored(http.StatusBadRequest, err)
		}
	}
	asked := rb.DeepCopy()
	answer := b.review(ctx, old, rb)
	if answer == nil && rb.DeletionTimestamp == nil {
		answer = leavesNoRoom(old, rb)
	}
	warnings := protected(old, asked, rb)
	if answer != nil {
		if !answer.Allowed {
			return *answer
		}
		warnings = append(warnings, answer.Warnings...)
	}
	return patched(asked, rb).WithWarnings(warnings...)
}

// review changes a binding to what may be stored. It returns a response only if the request is refused or needs a warning. Old is
// nil if the binding is being created.
func (b *Bindings) review(ctx context.Context, old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	before, forgotten := holdOf(rb), binding.PlacementForgotten(rb)
	released := restore(old, rb)
	if has(rb, binding.HoldAnnotation) || has(rb, binding.GrantAnnotation) {
		leaveNothing(rb)
	}
	switch {
	case getsAnother(old, rb):
		return b.replace(old, rb)
	case runsAgain(old, rb):
		endGrant(old, rb)
		return nil
	case has(rb, binding.HoldAnnotation):
		keepSuspended(rb)
		hideChange(old, rb)
		return refuseNewClusters(old, rb)
	case rb.DeletionTimestamp != nil:
		return nil
	case has(rb, binding.GrantAnnotation):
		if !released || before == nil {
			before = &binding.Hold{}
		}
		return b.holdGrowth(ctx, old, rb, *before, forgotten)
	case rb.Spec.SchedulingSuspended():
		return nil
	case old != nil && !released && apiequality.Semantic.DeepEqual(old.Spec, rb.Spec):
		return nil
	default:
		return b.holdNew(ctx, old, rb)
	}
}

// holdNew holds a managed binding without a grant that does not run anywhere. Its scheduling was never suspended, or another user
// has just resumed it. A binding with clusters runs already: the dispatcher adopts it.
func (b *Bindings) holdNew(ctx context.Context, old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	runs := old != nil && len(old.Spec.Clusters)+len(old.Spec.GracefulEvictionTasks) > 0
	if runs || isDependency(rb) {
		return nil
	}
	t, err := b.Template(ctx, rb)
	managed, queue := false, ""
	switch {
	case t != nil:
		managed, queue = t.Managed(b.ManageWorkloadsWithoutQueue), t.Queue
	case err == nil:
	case isGone(err):
		managed = isKnown(rb) || b.ManageWorkloadsWithoutQueue
	case apierrors.IsForbidden(err) && !isKnown(rb):
		managed = b.ManageWorkloadsWithoutQueue
		if !managed {
			response := ctrladmission.Allowed("").WithWarnings(fmt.Sprintf("%s is not held, because its %s cannot be read: %v. "+
				"If it belongs to a queue, let ClusterRole vc-dispatcher-workloads get objects of this kind", nameOf(rb), objectOf(rb), err))
			return &response
		}
	default:
		return unread(rb, err)
	}
	if managed {
		rb.Spec.Clusters = nil
		hold(rb, binding.Hold{Reason: binding.Waiting, Queue: queue})
		leaveNothing(rb)
	}
	return nil
}

// leaveNothing makes Karmada remove the workload from its clusters when it is deleted. Otherwise, it would go on running there without a charge.
func leaveNothing(rb *workv1alpha2.ResourceBinding) { rb.Spec.PreserveResourcesOnDeletion = nil }

// holdGrowth holds a workload that exceeds the grant of its binding. Workloads does so earlier, at the object. HoldGrowth is for
// other kinds of objects, for policies that add clusters, for a scheduler that chooses more clusters, for evictions from one cluster after the
// other, and for grants that were made for an older version during an update. Before is the hold of the webhook in an earlier call for the same request, and
// forgotten says that it has taken clusters from the binding then.
func (b *Bindings) holdGrowth(ctx context.Context, old, rb *workv1alpha2.ResourceBinding, before binding.Hold, forgotten bool) *ctrladmission.Response {
	if response := refuseMoreReplicas(old, rb); response != nil {
		return response
	}
	grant := binding.Read(old, nil).Grant
	kept, back := covered(old, rb, grant)
	wants := len(kept) < len(rb.Spec.Clusters) || before.Reason != "" && forgotten
	rb.Spec.Clusters = kept
	same, evicts := sameNeeds(&old.Spec, &rb.Spec), len(binding.Evicting(rb)) > len(binding.Evicting(old))
	if same && !wants && !evicts {
		return nil
	}
	t, err := b.Template(ctx, rb)
	switch {
	case t == nil && err == nil || isGone(err): // the binding is deleted with the object
		if before.Reason == binding.Growing { // another replica has seen the object
			if forgotten {
				binding.ForgetPlacement(rb)
			}
			hold(rb, before)
		}
		return nil
	case t == nil:
		return unread(rb, err)
	}
	if wants {
		binding.ForgetPlacement(rb)
	}
	moves := !apiequality.Semantic.DeepEqual(old.Spec.Placement, rb.Spec.Placement)
	ends := moves && b.ends(old, rb, t) || back || before.Ends && forgotten ||
		evicts && grant != nil && binding.EvictsTooMuch(rb, append(left(rb, grant), binding.Evicting(rb)...), grant.Copies)
	if moves {
		b.noteChange(old, rb)
	}
	if ends || wants || !same && growth(t, rb, err, b.Exceeds) != "" {
		if err == nil && b.uncharged(old, t) {
			return tryAgain(nameOf(rb))
		}
		hold(rb, binding.Hold{
			Reason: binding.Growing, Queue: t.Queue, Ends: ends, PlacementOnly: same, Unnoted: len(unnoted(t, grant)) > 0, KeepScheduling: rb.Spec.SchedulingSuspended(),
		})
	}
	return nil
}

// covered returns the clusters of a binding that its grant covers. Karmada's scheduler chooses more clusters although nothing has changed in the binding, for
// example when a cluster has returned, or after an eviction from all clusters. It also chooses clusters that the workload has just left, where pods may
// still end: back says that it has chosen such a cluster. The scheduler chooses again when the hold ends.
func covered(old, rb *workv1alpha2.ResourceBinding, grant *binding.Grant) (kept []workv1alpha2.TargetCluster, back bool) {
	if grant == nil {
		return rb.Spec.Clusters, false
	}
	before, gone, more := binding.Kept(old), left(old, grant), 0
	if !binding.Divides(rb) {
		more = len(binding.Kept(rb)) - max(len(before), int(grant.Copies))
	}
	for _, c := range slices.Backward(rb.Spec.Clusters) {
		switch {
		case slices.Contains(gone, c.Name):
			back = true
			more--
		case more > 0 && !slices.Contains(before, c.Name):
			more--
		default:
			kept = append(kept, c)
		}
	}
	slices.Reverse(kept)
	return kept, back
}

// left returns the clusters that a binding has left, and where something of it may still run.
func left(rb *workv1alpha2.ResourceBinding, grant *binding.Grant) []string {
	if grant == nil {
		return nil
	}
	clusters := binding.Clusters(rb)
	return slices.DeleteFunc(slices.Clone(grant.Clusters), func(cluster string) bool { return slices.Contains(clusters, cluster) })
}

// noteChange records a change of a workload. The next change waits for the pods that this one ends.
func (b *Bindings) noteChange(old, rb *workv1alpha2.ResourceBinding) {
	change := binding.Read(old, nil).Change.Again(b.Now())
	rb.Annotations = withEntry(rb.Annotations, binding.ChangeAnnotation, change.Annotation())
}

// ends reports whether pods that an earlier change replaced may still end when a workload moves.
func (b *Bindings) ends(old, rb *workv1alpha2.ResourceBinding, t *workload.Template) bool {
	state := binding.Read(old, nil)
	return state.Change != nil || len(left(old, state.Grant)) > 0 || b.Spares(t, rb)
}

// sameNeeds reports whether everything is unchanged that the needs of a workload depend on, including the version of the object.
func sameNeeds(a, b *workv1alpha2.ResourceBindingSpec) bool {
	equal := apiequality.Semantic.DeepEqual
	return a.Resource == b.Resource && a.Replicas == b.Replicas && equal(a.ReplicaRequirements, b.ReplicaRequirements) &&
		equal(a.Components, b.Components) && equal(a.Placement, b.Placement) && equal(a.RequiredBy, b.RequiredBy) &&
		equal(told(a), told(b))
}

// told returns to which clusters a policy suspends dispatching. They keep their replicas.
func told(spec *workv1alpha2.ResourceBindingSpec) policyv1alpha1.Suspension {
	if spec.Suspension == nil {
		return policyv1alpha1.Suspension{}
	}
	return spec.Suspension.Suspension
}

// isGone reports whether an object or its kind does not exist.
func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

func unread(rb *workv1alpha2.ResourceBinding, err error) *ctrladmission.Response {
	response := ctrladmission.Errored(http.StatusInternalServerError,
		fmt.Errorf("%s: cannot read %s, so the dispatcher does not know its queue and its needs: %w", nameOf(rb), objectOf(rb), err))
	return &response
}

// patched admits a request with the changes of a binding. The patch is the difference of two typed objects. It does not touch
// fields that later versions of Karmada add.
func patched(asked, rb *workv1alpha2.ResourceBinding) ctrladmission.Response {
	before, err := json.Marshal(asked)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	after, err := json.Marshal(rb)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	return ctrladmission.PatchResponseFromRaw(before, after)
}
