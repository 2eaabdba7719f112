// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// again makes the binding name a new object with the same name. The old object was deleted without the binding.
func again(replicas int32) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		objectAt("2", replicas)(rb)
		rb.Spec.Resource.UID = "d2"
	}
}

// TestAnotherObjectOfABinding: a user deletes an object with --cascade=orphan, which leaves its binding and its pods, and creates it
// again. No update of the object says what has changed.
func TestAnotherObjectOfABinding(t *testing.T) {
	runs := newBinding(granting, on("m1", 2))
	const ends = `{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`
	volcanoJob, batchJob := ofKind("batch.volcano.sh/v1alpha1", "Job"), ofKind("batch/v1", "Job")
	completed := func(rb *workv1alpha2.ResourceBinding) {
		volcanoJob(rb)
		rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"state":{"phase":"Completed"}}`)}}}
	}
	returned := func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Clusters = nil }
	for _, c := range []bindingCase{
		{name: "waits until pods of the old one have ended, although it needs no more", old: runs, asked: newBinding(granting, on("m1", 2), again(2)),
			want: newBinding(granting, on("m1", 2), again(2), changing, held(ends), dispatching)},
		{name: "waits in addition to growth", old: newBinding(granting, on("m1", 2), held(growing), dispatching), asked: newBinding(granting, on("m1", 2), held(growing), dispatching, again(1)),
			want: newBinding(granting, on("m1", 2), again(1), changing, held(ends), dispatching)},
		{name: "gets no clusters by the way", old: runs, asked: newBinding(granting, on("m1", 2), on("m2", 2), again(2)), message: "spec.clusters cannot get m2"},
		{name: "waits for room like any other if the old one has ended", old: newBinding(granting, on("m1", 2), completed), asked: newBinding(granting, on("m1", 2), completed, again(2)),
			want: newBinding(granting, completed, again(2), returned, held(`{"reason":"Returning","queue":"research","ended":true}`))},
		{name: "waits for room if the old one has ended while its growth was held", old: newBinding(granting, on("m1", 2), completed, held(growing), dispatching),
			asked: newBinding(granting, on("m1", 2), completed, held(growing), dispatching, again(2)),
			want:  newBinding(granting, completed, again(2), returned, held(`{"reason":"Returning","queue":"research","dispatching":true,"ended":true}`), dispatching)},
		{name: "waits for room like any other if the old one is a Volcano Job", old: newBinding(granting, on("m1", 2), volcanoJob), asked: newBinding(granting, on("m1", 2), volcanoJob, again(2)),
			want: newBinding(granting, volcanoJob, again(2), returned, held(`{"reason":"Returning","queue":"research"}`))},
		{name: "does not take the place of one of another kind that runs", old: newBinding(granting, on("m1", 2), volcanoJob), asked: newBinding(granting, on("m1", 2), batchJob, again(2)),
			message: "ResourceBinding team/web-deployment is still that of a Job in batch.volcano.sh/v1alpha1, which runs in clusters: delete the binding first"},
		{name: "nor of one that leaves its clusters", old: newBinding(granting, held(returning), volcanoJob), asked: newBinding(granting, held(returning), batchJob, again(2)),
			message: "is still that of a Job in batch.volcano.sh/v1alpha1"},
		{name: "waits as before if nothing was granted", old: newBinding(held(waiting)), asked: newBinding(held(waiting), again(2)), want: newBinding(held(waiting), again(2))},
		{name: "stays held if nobody can read how", old: newBinding(granting, held("{")), asked: newBinding(granting, held("{"), again(2)), want: newBinding(granting, held("{"), again(2), changing)},
		{name: "does not matter while the binding is being deleted", old: newBinding(granting, deleting), asked: newBinding(granting, deleting, again(2)), want: newBinding(granting, deleting, again(2))},
		{name: "is the same as before if its UID was not known", old: newBinding(granting, func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Resource.UID = "" }),
			asked: newBinding(granting), want: newBinding(granting)},
	} {
		t.Run(c.name, c.run)
	}
}

// TestAGrantThatCannotBeReadStaysWithItsObject: it is unknown what runs.
func TestAGrantThatCannotBeReadStaysWithItsObject(t *testing.T) {
	unreadable := annotated(binding.GrantAnnotation, "{")
	old, asked := newBinding(granting, unreadable, on("m1", 2)), newBinding(granting, unreadable, on("m1", 2), again(2))
	got, response := ask(t, newWebhook(), detector, old, asked)
	if got == nil || got.Annotations[binding.GrantAnnotation] != "{" || !has(got, binding.HoldAnnotation) || !binding.DispatchingSuspended(got) {
		t.Errorf("got %+v, message %q", got, messageOf(response))
	}
}
