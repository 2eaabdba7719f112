// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// controlPlane has one binding, and counts the requests for it.
type controlPlane struct {
	binding *workv1alpha2.ResourceBinding
	object  runtime.Object
	// conflicts is the number of patches that fail because the binding has changed.
	conflicts int
	// patchErr is the error of patches.
	patchErr error
	readErr  error

	reads, patches int
}

var bindingsResource = schema.GroupResource{Group: "work.karmada.io", Resource: "resourcebindings"}

func (p *controlPlane) Binding(_ context.Context, namespace, name string) (*workv1alpha2.ResourceBinding, error) {
	p.reads++
	if p.readErr != nil {
		return nil, p.readErr
	}
	if p.binding == nil || p.binding.Namespace != namespace || p.binding.Name != name {
		return nil, apierrors.NewNotFound(bindingsResource, name)
	}
	return p.binding.DeepCopy(), nil
}

func (p *controlPlane) Object(_ context.Context, _ schema.GroupVersionKind, _, name string) (runtime.Object, error) {
	p.reads++
	if p.object == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	return p.object, nil
}

func (p *controlPlane) Patch(_ context.Context, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	p.patches++
	if p.conflicts > 0 {
		p.conflicts--
		return apierrors.NewConflict(bindingsResource, rb.Name, errors.New("the object has been modified"))
	}
	if p.patchErr != nil {
		return p.patchErr
	}
	before, err := json.Marshal(p.binding)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return err
	}
	p.binding, err = decode[*workv1alpha2.ResourceBinding](after)
	return err
}

func TestUpdatesOfWorkloads(t *testing.T) {
	runs := newBinding(granting, on("m1", 2))
	heldForGrowth := newBinding(granting, on("m1", 2), held(growing), dispatching, changing)
	runsAndChanges := newBinding(granting, on("m1", 2), changing)
	waitsForEnds := newBinding(granting, on("m1", 2), held(`{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`), dispatching, changing)
	const ends = "Deployment team/web: pods that it had before an earlier change may still end. What runs stays as it is until they have"
	const another = "Deployment team/web waits until the pods of the one that had this name before have ended"
	heldForAnother := newBinding(granting, on("m1", 2), held(`{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`), dispatching, annotated(binding.ChangeAnnotation, `{"replaces":"","time":"2026-05-01T12:00:00Z"}`))
	creating := func(r *ctrladmission.Request) { r.Operation, r.OldObject.Raw = admissionv1.Create, nil }
	const grows = "Deployment team/web: it needs more than it was granted: 2 of cpu more. What runs stays as it is until the queue has room for the change"
	for _, c := range []struct {
		name           string
		before, after  runtime.Object
		with           controlPlane
		request        func(*ctrladmission.Request)
		want           *workv1alpha2.ResourceBinding // the binding afterwards, nil if it is unchanged
		reads, patches int
		denied         string
		code           int32
		warnings       []string
	}{
		{name: "growth beyond the grant is held", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs},
			want: heldForGrowth, reads: 1, patches: 1, warnings: []string{grows}},
		{name: "the growth of a Volcano Job is held", before: job(2), after: job(4), with: controlPlane{binding: newBinding(ofJob, granting)},
			want: newBinding(ofJob, granting, held(growing), dispatching, changing), reads: 1, patches: 1, warnings: []string{"Job team/train"}},
		{name: "what a policy suspends stays suspended afterwards", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(granting, dispatching)},
			want: newBinding(granting, dispatching, held(`{"reason":"Growing","queue":"research"}`), changing), reads: 1, patches: 1, warnings: []string{grows}},
		{name: "what somebody else suspends stays suspended afterwards", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(granting, scheduling(true))},
			want: newBinding(granting, held(growingKept), dispatching, changing), reads: 1, patches: 1, warnings: []string{grows}},
		{name: "a dry run writes nothing", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs},
			request: func(r *ctrladmission.Request) { r.DryRun = ptr.To(true) }, reads: 1, warnings: []string{grows}},
		{name: "further growth is held already", before: deployment(4), after: deployment(5), with: controlPlane{binding: newBinding(granting, on("m1", 2), held(growing), dispatching)},
			want: heldForGrowth, reads: 1, patches: 1, warnings: []string{"it needs more than it was granted: 3 of cpu more"}},
		{name: "growth within the grant waits for the pods that the workload has lost", before: deployment(1), after: deployment(2), with: controlPlane{binding: runs},
			want: waitsForEnds, reads: 1, patches: 1, warnings: []string{ends}},
		{name: "so does growth beyond it", before: deployment(1), after: deployment(4), with: controlPlane{binding: runs}, want: waitsForEnds, reads: 1, patches: 1, warnings: []string{grows}},
		{name: "new pods of a Volcano Job have the names of the old ones, and wait for them there", before: job(2), after: job(2, withPriority),
			with: controlPlane{binding: newBinding(ofJob, granting, changing)}, want: newBinding(ofJob, granting, changing), reads: 1, patches: 1},
		{name: "a second new image waits for the pods of the first", before: deployment(2), after: deployment(2, withImage), with: controlPlane{binding: runsAndChanges},
			want: waitsForEnds, reads: 1, patches: 1, warnings: []string{ends}},
		{name: "a Job that is resumed waits for the pods that it had", before: suspended(batchJob(2)), after: batchJob(2), with: controlPlane{binding: newBinding(ofBatchJob, granting)},
			want:  newBinding(ofBatchJob, granting, held(`{"reason":"Growing","dispatching":true,"ends":true}`), dispatching, changing),
			reads: 1, patches: 1, warnings: []string{"pods that it had before an earlier change may still end"}},
		{name: "a CronJob whose schedule changes may replace its Job at once, and waits for the pods that end", before: replacing("* * * * *"), after: replacing("1 * * * *"), with: controlPlane{binding: newBinding(ofReplacing, granting)},
			want:  newBinding(ofReplacing, granting, held(`{"reason":"Growing","dispatching":true,"ends":true}`), dispatching, changing),
			reads: 1, patches: 1, warnings: []string{"pods that it had before an earlier change may still end"}},
		{name: "pods of a StatefulSet that get other numbers again wait for those that end", before: numberedFrom(5), after: numberedFrom(0), with: controlPlane{binding: newBinding(ofSet, granting, changing)},
			want:  newBinding(ofSet, granting, held(`{"reason":"Growing","dispatching":true,"ends":true}`), dispatching, changing),
			reads: 1, patches: 1, warnings: []string{"pods that it had before an earlier change may still end"}},
		{name: "what is paused and has no pods would get those of a former template", before: deployment(0), after: deployment(4, paused), with: controlPlane{binding: newBinding(granting, on("m1", 0))},
			reads: 1, denied: "Deployment team/web would get pods of a template that it had before", code: 403},
		{name: "Volcano would keep the pods of a task that it has no more", before: job(2), after: job(2, renamed), with: controlPlane{binding: newBinding(ofJob, granting)},
			reads: 1, denied: "Job team/train would keep the pods of task worker beside those of other tasks", code: 403},
		{name: "also if nobody can count those of the others", before: job(2), after: job(-2, renamed), with: controlPlane{binding: newBinding(ofJob, granting)},
			reads: 1, denied: "would keep the pods of task worker", code: 403},
		{name: "or could count its own before", before: job(-2), after: job(2, renamed), with: controlPlane{binding: newBinding(ofJob, granting, held(growing), dispatching)},
			reads: 1, denied: "would keep the pods of task worker", code: 403},
		{name: "also if it has no others", before: job(-2), after: job(2, withoutTasks), with: controlPlane{binding: newBinding(ofJob, granting, held(growing), dispatching)},
			reads: 1, denied: "would keep the pods of task worker", code: 403},
		{name: "a task may get another name while there are no pods of it", before: job(2), after: job(2, renamed), with: controlPlane{binding: newBinding(ofJob, held(waiting))},
			want: newBinding(ofJob, held(waiting), changing), reads: 1, patches: 1},
		{name: "a task that is added is held with what clusters have", before: job(2), after: job(4, withTask), with: controlPlane{binding: newBinding(ofJob, granting)},
			want: newBinding(ofJob, granting, held(growingTasks), dispatching, changing), reads: 1, patches: 1, warnings: []string{grows[len("Deployment team/web"):]}},
		{name: "it may be removed again before clusters have it", before: job(4, withTask), after: job(2), with: controlPlane{binding: newBinding(ofJob, granting, held(growingTasks), dispatching)},
			want: newBinding(ofJob, granting, held(growingTasks), dispatching, changing), reads: 1, patches: 1},
		{name: "but not one that they have", before: job(4, withTask), after: job(2, renamed),
			with: controlPlane{binding: newBinding(ofJob, granting, held(growingTasks), dispatching)}, reads: 1, denied: "would keep the pods of task worker", code: 403},
		{name: "nor one that they may have", before: job(4, withTask), after: job(2), with: controlPlane{binding: newBinding(ofJob, granting, held(growing), dispatching)},
			reads: 1, denied: "would keep the pods of task other", code: 403},
		{name: "a longer grace period is noted at once", before: deployment(2), after: deployment(2, withGrace), with: controlPlane{binding: runs},
			want: newBinding(granting, on("m1", 2), changingWith("60")), reads: 1, patches: 1},
		{name: "and is not forgotten when it is as short as before", before: deployment(2), after: deployment(2, withImage), with: controlPlane{binding: newBinding(granting, on("m1", 2), changingWith("60"))},
			want:  newBinding(granting, on("m1", 2), held(`{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`), dispatching, changingWith("60")),
			reads: 1, patches: 1, warnings: []string{ends}},
		{name: "a Job that is suspended costs no request", before: batchJob(2), after: suspended(batchJob(2)), with: controlPlane{binding: newBinding(ofBatchJob, granting)}},
		{name: "nothing is granted for what waits and changes", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(held(waiting))},
			want: newBinding(held(waiting), changing), reads: 1, patches: 1},
		{name: "what is being taken back may grow", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(granting, held(returning))},
			want: newBinding(granting, held(returning), changing), reads: 1, patches: 1, warnings: []string{grows}},
		{name: "what is not managed may grow", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(on("m1", 2))}, reads: 1},
		{name: "what is not propagated may grow", before: deployment(2), after: deployment(4), reads: 1},
		{name: "what is being deleted may grow", before: deployment(2), after: deployment(4), with: controlPlane{binding: newBinding(granting, deleting)}, reads: 1},
		{name: "fewer pods cost no request", before: deployment(4), after: deployment(2), with: controlPlane{binding: runs}},
		{name: "a label costs no request", before: deployment(2), after: deployment(2, withLabel), with: controlPlane{binding: runs}},
		{name: "the label that leaves replicas to clusters is looked at", before: deployment(2), after: deployment(2, retaining), with: controlPlane{binding: runs},
			want: newBinding(granting, on("m1", 2), changing), reads: 1, patches: 1},
		{name: "a status costs no request", before: deployment(2), after: deployment(2, withStatus), with: controlPlane{binding: runs}},
		{name: "a larger surge is looked at: each cluster may have it", before: deployment(2), after: deployment(2, surging), with: controlPlane{binding: runs},
			want: runsAndChanges, reads: 1, patches: 1},
		{name: "a new image is looked at, and needs no more", before: deployment(2), after: deployment(2, withImage), with: controlPlane{binding: runs},
			want: runsAndChanges, reads: 1, patches: 1},
		{name: "a new queue is stored, and the old one stays charged", before: deployment(2), after: deployment(2, inTestQueue), with: controlPlane{binding: runs},
			want: runsAndChanges, reads: 1, patches: 1, warnings: []string{"Deployment team/web stays charged to queue research, which has granted it room. To move it to another queue, delete it and create it again"}},
		{name: "a new queue before the grant is a change like others", before: deployment(2), after: deployment(2, inTestQueue), with: controlPlane{binding: newBinding(held(waiting))},
			want: newBinding(held(waiting), changing), reads: 1, patches: 1},
		{name: "what cannot be counted any more is held", before: deployment(2), after: deployment(2, malformed), with: controlPlane{binding: runs},
			want: heldForGrowth, reads: 1, patches: 1, warnings: []string{`it cannot be counted: its annotation scheduling.volcano.sh/group-min-member is "many"`}},
		{name: "a conflict is tried again", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs, conflicts: 2},
			want: heldForGrowth, reads: 3, patches: 3, warnings: []string{grows}},
		{name: "conflicts without end refuse the update", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs, conflicts: 1000}, reads: 5, patches: 5,
			denied: "Deployment team/web may grow beyond what it was granted, so its ResourceBinding must be held first", code: 409},
		{name: "a binding that cannot be read refuses the update", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs, readErr: errors.New("connection refused")},
			reads: 1, denied: "cannot read its ResourceBinding: connection refused. Try again", code: 500},
		{name: "so does one that is read too slowly", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs, readErr: context.DeadlineExceeded},
			reads: 1, denied: "cannot read its ResourceBinding: context deadline exceeded. Try again", code: 500},
		{name: "and one that is not held in time", before: deployment(2), after: deployment(4), with: controlPlane{binding: runs, patchErr: context.DeadlineExceeded},
			reads: 1, patches: 1, denied: "so its ResourceBinding must be held first: context deadline exceeded. Try again", code: 500},
		{name: "a Job is not held for a Volcano Job of its name", before: batchJob(2), after: batchJob(4), with: controlPlane{binding: newBinding(ofJob, granting)}, reads: 1},
		{name: "an object that takes the place of one that runs is held, as soon as it is created", after: deployment(4, recreated), with: controlPlane{binding: runs},
			request: creating, want: heldForAnother, reads: 1, patches: 1, warnings: []string{another}},
		{name: "also in a dry run, which writes nothing", after: deployment(4, recreated), with: controlPlane{binding: runs},
			request: func(r *ctrladmission.Request) { creating(r); r.DryRun = ptr.To(true) }, reads: 1, warnings: []string{another}},
		{name: "or when it is changed, if it was created without the webhook", before: deployment(2, recreated), after: deployment(4, recreated), with: controlPlane{binding: runs},
			want: heldForAnother, reads: 1, patches: 1, warnings: []string{another}},
		{name: "one that takes the place of one that is held already, is held", after: deployment(4, recreated), request: creating,
			with: controlPlane{binding: newBinding(granting, on("m1", 2), held(growing), dispatching)}, reads: 1},
		{name: "and one of one that waits", after: deployment(4, recreated), request: creating, with: controlPlane{binding: newBinding(held(waiting))}, reads: 1},
		{name: "a new object without a binding costs one request", after: deployment(4), request: creating, reads: 1},
		{name: "a new Job does not take the place of a Volcano Job of its name", after: batchJob(4), request: creating, with: controlPlane{binding: newBinding(ofJob, granting)}, reads: 1},
		{name: "kubectl scale is held", before: scale(2), after: scale(4), with: controlPlane{binding: runs, object: deployment(2)}, request: scaling,
			want: heldForGrowth, reads: 2, patches: 1, warnings: []string{grows}},
		{name: "kubectl scale to less costs no request", before: scale(4), after: scale(2), with: controlPlane{binding: runs}, request: scaling},
		{name: "kubectl scale of nothing is left to the API server", before: scale(2), after: scale(4), request: scaling, reads: 1},
		{name: "an object that cannot be read is refused", before: deployment(1), after: &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}},
			denied: "not read", code: 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			plane := c.with
			w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Patch: plane.Patch, Now: func() time.Time { return noon }}
			req := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, Namespace: "team", Name: "web", OldObject: raw(t, c.before), Object: raw(t, c.after),
			}}
			if c.request != nil {
				c.request(&req)
			}
			response := w.Handle(context.Background(), req)
			if response.Allowed != (c.denied == "") || !strings.Contains(messageOf(response), c.denied) || c.denied != "" && response.Result.Code != c.code {
				t.Errorf("allowed is %v, message %q, result %v", response.Allowed, messageOf(response), response.Result)
			}
			if !slices.EqualFunc(response.Warnings, c.warnings, strings.Contains) {
				t.Errorf("the warnings are %q, want these in them: %q", response.Warnings, c.warnings)
			}
			if plane.reads != c.reads || plane.patches != c.patches {
				t.Errorf("%d reads and %d patches, want %d and %d", plane.reads, plane.patches, c.reads, c.patches)
			}
			if c.want == nil {
				c.want = c.with.binding
			}
			if diff := cmp.Diff(c.want, plane.binding); diff != "" {
				t.Errorf("the binding (-want +got):\n%s", diff)
			}
			if len(response.Patches) != 0 {
				t.Errorf("the webhook validates, and returned %v", response.Patches)
			}
		})
	}
}

func scaling(r *ctrladmission.Request) {
	r.SubResource, r.Resource = "scale", metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

// TestBothWebhooksHoldGrowthAlike compares the holds of Workloads and Bindings.
func TestBothWebhooksHoldGrowthAlike(t *testing.T) {
	for _, runs := range []*workv1alpha2.ResourceBinding{
		newBinding(granting), newBinding(granting, dispatching), newBinding(granting, scheduling(true)), newBinding(granting, dispatching, scheduling(true)),
	} {
		mutated := runs.DeepCopy()
		objectAt("2", 4)(mutated)
		got, _ := ask(t, newWebhook(), detector, runs, mutated)
		plane := controlPlane{binding: mutated}
		if err := plane.Patch(context.Background(), mutated, binding.PatchHoldGrowth(mutated, nil, binding.Hold{Queue: "research"}, &binding.Change{})); err != nil {
			t.Fatal(err)
		}
		delete(plane.binding.Annotations, binding.ChangeAnnotation) // the change is stored already when Bindings sees it
		if diff := cmp.Diff(plane.binding, got); diff != "" {
			t.Errorf("(-Workloads +Bindings):\n%s", diff)
		}
	}
}

// TestEveryKindIsDecoded sends an object of each kind.
func TestEveryKindIsDecoded(t *testing.T) {
	for _, kind := range workload.Kinds {
		object := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": map[string]any{"namespace": "team", "name": "web"}}
		plane := controlPlane{}
		w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Patch: plane.Patch, Now: func() time.Time { return noon }}
		response := w.Handle(context.Background(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, OldObject: raw(t, object), Object: raw(t, object),
		}})
		if !response.Allowed {
			t.Errorf("%s: %s", kind, messageOf(response))
		}
	}
}
