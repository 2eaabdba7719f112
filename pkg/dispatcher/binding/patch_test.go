// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"context"
	"encoding/json"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/utils/ptr"
)

// crowded returns a binding in which every field of other owners is set.
func crowded(changes ...func(*workv1alpha2.ResourceBinding)) *workv1alpha2.ResourceBinding {
	rb := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "w-job", UID: "uid", ResourceVersion: "42", Labels: map[string]string{"theirs": "1"},
			Annotations: map[string]string{"theirs": "2"}, Finalizers: []string{"karmada.io/binding-controller", "theirs"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Replicas: 4, Clusters: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 4}}, Placement: &policyv1alpha1.Placement{},
			GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{FromCluster: "b", Reason: "r", Producer: "p"}},
			Suspension: &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
				DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"c"}}}},
		},
		Status: workv1alpha2.ResourceBindingStatus{SchedulerObservedGeneration: 3},
	}
	for _, change := range changes {
		change(rb)
	}
	return rb
}

func annotated(name, value string) func(*workv1alpha2.ResourceBinding) {
	return func(rb *workv1alpha2.ResourceBinding) { metav1.SetMetaDataAnnotation(&rb.ObjectMeta, name, value) }
}

func scheduling(suspended bool) func(*workv1alpha2.ResourceBinding) {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Suspension.Scheduling = &suspended }
}

func dispatching(suspended bool) func(*workv1alpha2.ResourceBinding) {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Suspension.Dispatching = &suspended }
}

func finalized(rb *workv1alpha2.ResourceBinding) {
	rb.Finalizers = append(rb.Finalizers, Finalizer)
}

func clustersCleared(rb *workv1alpha2.ResourceBinding) {
	rb.Spec.Clusters, rb.Spec.GracefulEvictionTasks = nil, nil
}

func TestPatchesChangeNothingElse(t *testing.T) {
	type option = func(*workv1alpha2.ResourceBinding)
	grant := &Grant{Queue: "q", Time: at(0), Amounts: []Amount{{Dimension: resource("cpu")}}}
	requeue := &Requeue{Attempts: 1, NotBefore: at(60), Reason: "no cluster"}
	change := &Change{Replaces: "7", Time: at(30)}
	changing := annotated(ChangeAnnotation, change.Annotation())
	hold := func(h Hold) option { return annotated(HoldAnnotation, h.Annotation()) }
	granted, requeued := annotated(GrantAnnotation, grant.Annotation()), annotated(RequeueAnnotation, requeue.Annotation())
	on := func(p func(rb *workv1alpha2.ResourceBinding, hold *Hold) []byte) func(*workv1alpha2.ResourceBinding) []byte {
		return func(rb *workv1alpha2.ResourceBinding) []byte { return p(rb, Read(rb, nil).Hold) }
	}
	give := on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte { return PatchGrant(rb, h, grant) })
	grow := on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte {
		return PatchHoldGrowth(rb, h, Hold{Queue: "q"}, change)
	})
	takeBack := on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte { return PatchTakeBack(rb, h, "q", requeue) })
	for _, c := range []struct {
		name        string
		before      []option
		patch       func(*workv1alpha2.ResourceBinding) []byte
		want        []option
		wantNothing bool
	}{
		{name: "a grant", before: []option{hold(Hold{Reason: Waiting}), scheduling(true), requeued}, patch: give, want: []option{granted, requeued, finalized, scheduling(false)}},
		{name: "a grant to what has changed", before: []option{hold(Hold{Reason: Waiting}), scheduling(true), changing}, patch: give, want: []option{granted, finalized, scheduling(false)}},
		{name: "a grant leaves a policy's suspension", before: []option{hold(Hold{Reason: Waiting}), scheduling(true), dispatching(true)}, patch: give,
			want: []option{granted, finalized, scheduling(false), dispatching(true)}},
		{name: "a grant to what has grown", before: []option{hold(Hold{Reason: Growing, Dispatching: true}), granted, finalized, scheduling(true), dispatching(true)}, patch: give,
			want: []option{granted, finalized, scheduling(false), dispatching(false)}},
		{name: "a grant leaves somebody else's suspension", before: []option{hold(Hold{Reason: Growing, Dispatching: true, KeepScheduling: true}), granted, finalized, scheduling(true), dispatching(true)}, patch: give,
			want: []option{granted, finalized, scheduling(true), dispatching(false)}},
		{name: "an adoption", patch: func(rb *workv1alpha2.ResourceBinding) []byte { return PatchAdopt(rb, grant) }, want: []option{granted, finalized}},
		{name: "an adoption of what would stay in its clusters", before: []option{func(rb *workv1alpha2.ResourceBinding) { rb.Spec.PreserveResourcesOnDeletion = ptr.To(true) }},
			patch: func(rb *workv1alpha2.ResourceBinding) []byte { return PatchAdopt(rb, grant) }, want: []option{granted, finalized}},
		{name: "other amounts", before: []option{annotated(GrantAnnotation, "more"), finalized, hold(Hold{Reason: Growing}), scheduling(true)},
			patch: func(rb *workv1alpha2.ResourceBinding) []byte { return PatchAmounts(rb, grant) }, want: []option{granted, finalized, hold(Hold{Reason: Growing}), scheduling(true)}},
		{name: "growth", before: []option{granted, finalized}, patch: grow, want: []option{granted, finalized, hold(Hold{Reason: Growing, Queue: "q", Dispatching: true}), scheduling(true), dispatching(true), changing}},
		{name: "growth of what a policy suspends", before: []option{granted, dispatching(true)}, patch: grow, want: []option{granted, hold(Hold{Reason: Growing, Queue: "q"}), scheduling(true), dispatching(true), changing}},
		{name: "growth of what somebody else suspends", before: []option{granted, scheduling(true)}, patch: grow,
			want: []option{granted, hold(Hold{Reason: Growing, Queue: "q", Dispatching: true, KeepScheduling: true}), scheduling(true), dispatching(true), changing}},
		{name: "growth that the detector let through", before: []option{hold(Hold{Reason: Growing, Queue: "p"}), scheduling(true), dispatching(false)}, patch: grow,
			want: []option{hold(Hold{Reason: Growing, Queue: "p", Dispatching: true}), scheduling(true), dispatching(true), changing}},
		{name: "growth of a placement", before: []option{granted, hold(Hold{Reason: Growing, Ends: true, Dispatching: true}), scheduling(true), dispatching(true)},
			patch: on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte { return PatchPlacementOnly(rb, *h, 5) }),
			want:  []option{granted, hold(Hold{Reason: Growing, Ends: true, PlacementOnly: true}), scheduling(true), dispatching(false)}},
		{name: "growth with tasks", before: []option{granted, hold(Hold{Reason: Growing, Tasks: "before"}), scheduling(true), dispatching(true)},
			patch: on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte {
				return PatchHoldGrowth(rb, h, Hold{Tasks: "later"}, change)
			}),
			want: []option{granted, hold(Hold{Reason: Growing, Tasks: "before"}), scheduling(true), dispatching(true), changing}},
		{name: "that of their placement", before: []option{granted, hold(Hold{Reason: Growing, Dispatching: true, Tasks: "before"}), scheduling(true), dispatching(true)},
			patch: on(func(rb *workv1alpha2.ResourceBinding, h *Hold) []byte { return PatchPlacementOnly(rb, *h, 5) }),
			want:  []option{granted, hold(Hold{Reason: Growing, PlacementOnly: true}), scheduling(true), dispatching(false)}},
		{name: "growth beside that of a placement", before: []option{granted, hold(Hold{Reason: Growing, PlacementOnly: true}), scheduling(true), dispatching(false)}, patch: grow,
			want: []option{granted, hold(Hold{Reason: Growing, Dispatching: true}), scheduling(true), dispatching(true), changing}},
		{name: "growth that is held", before: []option{hold(Hold{Reason: Growing}), scheduling(true), dispatching(true)}, patch: grow, want: []option{hold(Hold{Reason: Growing}), scheduling(true), dispatching(true), changing}},
		{name: "growth of what waits", before: []option{hold(Hold{Reason: Waiting}), scheduling(true)}, patch: grow, want: []option{hold(Hold{Reason: Waiting}), scheduling(true), changing}},
		{name: "growth of what is taken back", before: []option{hold(Hold{Reason: Returning}), scheduling(true)}, patch: grow, want: []option{hold(Hold{Reason: Returning}), scheduling(true), changing}},
		{name: "taking back", before: []option{granted, finalized, scheduling(false)}, patch: takeBack,
			want: []option{granted, finalized, requeued, hold(Hold{Reason: Returning, Queue: "q"}), scheduling(true), clustersCleared}},
		{name: "taking back what grows", before: []option{granted, hold(Hold{Reason: Growing, Queue: "p", Dispatching: true}), scheduling(true), dispatching(true)}, patch: takeBack,
			want: []option{granted, requeued, hold(Hold{Reason: Returning, Queue: "p", Dispatching: true}), scheduling(true), dispatching(true), clustersCleared}},
		{name: "taking back what grows and names no queue any more", before: []option{granted, hold(Hold{Reason: Growing, Dispatching: true}), scheduling(true), dispatching(true)}, patch: takeBack,
			want: []option{granted, requeued, hold(Hold{Reason: Returning, Queue: "q", Dispatching: true}), scheduling(true), dispatching(true), clustersCleared}},
		{name: "taking back what somebody else suspends", before: []option{granted, scheduling(true)}, patch: takeBack,
			want: []option{granted, requeued, hold(Hold{Reason: Returning, Queue: "q", KeepScheduling: true}), scheduling(true), clustersCleared}},
		{name: "the end of a grant", before: []option{granted, finalized, requeued, hold(Hold{Reason: Returning, Queue: "q", Dispatching: true}), scheduling(true)},
			patch: on(PatchEndGrant), want: []option{requeued, hold(Hold{Reason: Waiting, Queue: "q", Dispatching: true}), scheduling(true)}},
		{name: "letting go", before: []option{granted, finalized}, patch: PatchRemoveFinalizer, want: []option{granted}},
		{name: "a success", before: []option{granted, requeued}, patch: PatchForgetRequeue, want: []option{granted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rb := crowded(c.before...)
			text := c.patch(rb)
			if c.wantNothing {
				if text != nil {
					t.Errorf("got %s, want nothing", text)
				}
				return
			}
			if before := crowded(c.before...); !equality.Semantic.DeepEqual(rb, before) {
				t.Error("the binding has changed")
			}
			if want := crowded(c.want...); !equality.Semantic.DeepEqual(apply(t, rb, text), want) {
				t.Errorf("the patch %s does not do what it should:\n%s", text, diff.Diff(apply(t, rb, text), want))
			}
		})
	}
}

// apply returns the binding with the patch. It checks that the patch applies to this version of the binding only.
func apply(t *testing.T, rb *workv1alpha2.ResourceBinding, text []byte) *workv1alpha2.ResourceBinding {
	t.Helper()
	var precondition struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(text, &precondition); err != nil || precondition.Metadata.ResourceVersion != rb.ResourceVersion {
		t.Errorf("the patch %s is not for version %s: %v", text, rb.ResourceVersion, err)
	}
	after, err := fake.NewSimpleClientset(rb.DeepCopy()).WorkV1alpha2().ResourceBindings(rb.Namespace).
		Patch(context.Background(), rb.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestAPatchAddsASuspension(t *testing.T) {
	rb := crowded(func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Suspension = nil })
	got := apply(t, rb, PatchHoldGrowth(rb, nil, Hold{}, &Change{})).Spec.Suspension
	if want := (&workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: ptr.To(true)}, Scheduling: ptr.To(true)}); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
