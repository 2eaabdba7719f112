// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const (
	self     = "system:serviceaccount:volcano-system:vc-dispatcher"
	detector = "system:karmada:controller-manager"

	waiting = `{"reason":"Waiting","queue":"research"}`
	growing = `{"reason":"Growing","queue":"research","dispatching":true}`
	// placing holds only the placement.
	placing = `{"reason":"Growing","queue":"research","placementOnly":true}`
	// growingTasks also says that clusters have the task worker.
	growingTasks = `{"reason":"Growing","queue":"research","dispatching":true,"tasks":"892fb3f00c2598ceea720fc08111c95e"}`
	// growingKept also holds a suspension by others.
	growingKept = `{"reason":"Growing","queue":"research","dispatching":true,"keepScheduling":true}`
	returning   = `{"reason":"Returning"}`
	granted     = `{"queue":"research","time":"2026-01-01T00:00:00Z","grace":30,"amounts":[{"kind":"Resource","name":"cpu","amount":"2"}]}`
)

type option func(*workv1alpha2.ResourceBinding)

// newBinding returns the binding that Karmada's detector creates for a Deployment with two replicas.
func newBinding(options ...option) *workv1alpha2.ResourceBinding {
	rb := &workv1alpha2.ResourceBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "work.karmada.io/v1alpha2", Kind: "ResourceBinding"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "web-deployment", UID: "b", ResourceVersion: "7",
			Labels:      map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"},
			Annotations: map[string]string{"propagationpolicy.karmada.io/name": "all"},
			Finalizers:  []string{"karmada.io/binding-controller"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "team", Name: "web", UID: "d", ResourceVersion: "1"},
			Replicas:  2,
			Placement: &policyv1alpha1.Placement{},
		},
	}
	for _, o := range options {
		o(rb)
	}
	return rb
}

// held and granting add the annotations of the dispatcher.
func held(hold string) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		annotated(binding.HoldAnnotation, hold)(rb)
		scheduling(true)(rb)
	}
}

func granting(rb *workv1alpha2.ResourceBinding) {
	annotated(binding.GrantAnnotation, granted)(rb)
	rb.Finalizers = append(rb.Finalizers, binding.Finalizer)
}

func annotated(name, value string) option {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Annotations[name] = value }
}

func without(annotation string) option {
	return func(rb *workv1alpha2.ResourceBinding) { delete(rb.Annotations, annotation) }
}

func suspension(rb *workv1alpha2.ResourceBinding) *workv1alpha2.Suspension {
	if rb.Spec.Suspension == nil {
		rb.Spec.Suspension = &workv1alpha2.Suspension{}
	}
	return rb.Spec.Suspension
}

func scheduling(suspended bool) option {
	return func(rb *workv1alpha2.ResourceBinding) { suspension(rb).Scheduling = &suspended }
}

func dispatching(rb *workv1alpha2.ResourceBinding) { suspension(rb).Dispatching = ptr.To(true) }

func on(cluster string, replicas int32) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: cluster, Replicas: replicas})
	}
}

// followingTo makes another workload need the object in a cluster.
func followingTo(cluster string, replicas int32) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.RequiredBy = append(rb.Spec.RequiredBy, workv1alpha2.BindingSnapshot{
			Namespace: "team", Name: "train-job", Clusters: []workv1alpha2.TargetCluster{{Name: cluster, Replicas: replicas}},
		})
	}
}

func finalizers(names ...string) option {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Finalizers = names }
}

func deleting(rb *workv1alpha2.ResourceBinding) {
	rb.DeletionTimestamp = &metav1.Time{Time: metav1.Date(2026, 1, 1, 0, 0, 0, 0, metav1.Now().UTC().Location()).Time}
}

// objectAt makes the binding name another version of the object.
func objectAt(version string, replicas int32) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Resource.ResourceVersion, rb.Spec.Replicas = version, replicas
	}
}

func ofKind(apiVersion, kind string) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Resource.APIVersion, rb.Spec.Resource.Kind = apiVersion, kind
	}
}

func dependent(rb *workv1alpha2.ResourceBinding) {
	rb.Spec.Placement, rb.Spec.RequiredBy = nil, []workv1alpha2.BindingSnapshot{{Namespace: "team", Name: "train-job"}}
}

// inQueue returns a Template function that finds a workload in a queue.
func inQueue(queue string) func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
	return func(_ context.Context, rb *workv1alpha2.ResourceBinding) (*workload.Template, error) {
		return &workload.Template{
			Kind: rb.Spec.Resource.Kind, Namespace: "team", Name: "web", UID: "d", Queue: queue,
			Pods: []workload.PodSet{{Count: int64(rb.Spec.Replicas)}},
		}, nil
	}
}

func failing(err error) func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
	return func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) { return nil, err }
}

// newWebhook returns a webhook for which every workload is granted two pods.
func newWebhook() *Bindings {
	return &Bindings{
		User: self, Template: inQueue("research"),
		Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Now: func() time.Time { return noon },
	}
}

// exceedsTwoPods counts one CPU for each pod.
func exceedsTwoPods(t *workload.Template, _ *workv1alpha2.ResourceBinding) ([]binding.Amount, error) {
	if t.Pods[0].Count > 2 {
		return []binding.Amount{{Dimension: ledger.Dimension{Name: "cpu"}, Amount: ledger.Units(t.Pods[0].Count - 2)}}, nil
	}
	return nil, nil
}

// sparesTwoPods compares a workload with a grant of two pods.
func sparesTwoPods(t *workload.Template, _ *workv1alpha2.ResourceBinding) bool {
	return t.Pods[0].Count < 2
}

// ask sends a request, and returns the binding that would be stored. Old is nil for a creation.
func ask(t *testing.T, b *Bindings, user string, old, rb *workv1alpha2.ResourceBinding) (*workv1alpha2.ResourceBinding, ctrladmission.Response) {
	t.Helper()
	req := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: user}, Object: raw(t, rb),
	}}
	if old != nil {
		req.Operation, req.OldObject = admissionv1.Update, raw(t, old)
	}
	response := b.Handle(context.Background(), req)
	if !response.Allowed {
		return nil, response
	}
	if err := response.Complete(req); err != nil {
		t.Fatal(err)
	}
	stored := req.Object.Raw
	if len(response.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if stored, err = patch.Apply(stored); err != nil {
			t.Fatal(err)
		}
	}
	result := &workv1alpha2.ResourceBinding{}
	if err := json.Unmarshal(stored, result); err != nil {
		t.Fatal(err)
	}
	return result, response
}

func raw(t *testing.T, object any) runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func messageOf(response ctrladmission.Response) string {
	if response.Result == nil {
		return ""
	}
	return response.Result.Message
}
