// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// change is an update of a workload, or a new one.
type change struct {
	group string
	// before is the same as after if the workload is new.
	before, after *workload.Template
	isNew         bool
	// unreadable says why the needs of the workload after the update are unknown.
	unreadable error
	// dryRun says that the update is not stored.
	dryRun bool
}

// changeOf returns the change in a request, nil if it cannot make the workload need more.
func (w *Workloads) changeOf(ctx context.Context, req ctrladmission.Request) (*change, error) {
	if req.SubResource == "scale" {
		return w.scaled(ctx, req)
	}
	after, err := decode[runtime.Object](req.Object.Raw)
	if err != nil {
		return nil, err
	}
	before := after
	if req.Operation != admissionv1.Create {
		if before, err = decode[runtime.Object](req.OldObject.Raw); err != nil {
			return nil, err
		}
	}
	c, err := w.between(before, after)
	if c != nil {
		c.isNew = req.Operation == admissionv1.Create
	}
	return c, err
}

func (w *Workloads) between(before, after runtime.Object) (*change, error) {
	c := &change{group: after.GetObjectKind().GroupVersionKind().Group}
	// An error in the old object does not matter: without pods, it differs from the new one.
	c.before, _ = workload.Of(before, w.SchedulerNames)
	c.after, c.unreadable = workload.Of(after, w.SchedulerNames)
	if c.before == nil || c.after == nil {
		return nil, c.unreadable
	}
	return c, nil
}

// scaled reads the object that a request scales.
func (w *Workloads) scaled(ctx context.Context, req ctrladmission.Request) (*change, error) {
	before, err := decode[*autoscalingv1.Scale](req.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	after, err := decode[*autoscalingv1.Scale](req.Object.Raw)
	if err != nil || after.Spec.Replicas <= before.Spec.Replicas {
		return nil, err
	}
	kind := workload.Deployment
	if req.Resource.Resource == "statefulsets" {
		kind = workload.StatefulSet
	}
	object, err := w.Object(ctx, kind, req.Namespace, req.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil // the API server reports that itself
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s cannot be read to find out what it needs: %w. Try again", kind.Kind, req.Namespace, req.Name, err)
	}
	return w.between(object, withReplicas(kind, object, after.Spec.Replicas))
}

// withReplicas returns a copy of an object with a different number of replicas.
func withReplicas(kind schema.GroupVersionKind, object runtime.Object, replicas int32) runtime.Object {
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kind) // typed clients leave it empty
	switch o := object.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &replicas
	case *appsv1.StatefulSet:
		o.Spec.Replicas = &replicas
	}
	return object
}

// needsNoMore reports whether an update cannot increase the needs: it has at most fewer pods, and everything else that the needs
// depend on is the same.
func (c *change) needsNoMore() bool {
	a, b := c.before, c.after
	if c.unreadable != nil || b.RetainsReplicas && !a.RetainsReplicas || c.resumes() || c.restarts() || a.Start != b.Start || b.Surge > a.Surge || b.SurgePercent > a.SurgePercent || a.Queue != b.Queue || a.Group != b.Group || a.CardRequest != b.CardRequest || len(a.Pods) != len(b.Pods) ||
		!slices.Equal(a.Tasks, b.Tasks) || // also of a job without pods because nobody could count it: clusters have its tasks
		!apiequality.Semantic.DeepEqual(a.Reserve, b.Reserve) {
		return false
	}
	for i := range a.Pods {
		x, y := &a.Pods[i], &b.Pods[i]
		if x.Name != y.Name || y.Count > x.Count || !apiequality.Semantic.DeepEqual(x.Template, y.Template) {
			return false
		}
	}
	return true
}

// resumes reports whether the workload makes pods again. Its former pods may still end.
func (c *change) resumes() bool { return c.before.Suspended && !c.after.Suspended }

// restarts reports whether a CronJob may replace its Job at once. The pods of the former Job may still end.
func (c *change) restarts() bool { return c.before.Starts != c.after.Starts }

// makesFormerPods reports whether clusters would make additional pods of an unknown former template: more pods of a StatefulSet with a
// partition, or the first pods of a paused Deployment.
func (c *change) makesFormerPods(rb *workv1alpha2.ResourceBinding) bool {
	if c.after == nil || !c.after.Halts || len(rb.Spec.Clusters) == 0 {
		return false
	}
	var all, most int64
	for _, target := range rb.Spec.Clusters {
		all, most = all+int64(target.Replicas), max(most, int64(target.Replicas))
	}
	if rb.Spec.Placement != nil && rb.Spec.Placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided {
		most = all
	}
	return c.after.Unsurged() > most && (most == 0 || c.after.Kind == workload.StatefulSet.Kind)
}

// grace returns the longest grace period of pods of the workload in seconds, zero if its grant covers it already.
func (c *change) grace(state *binding.State) int64 {
	grace := max(c.before.Grace, c.after.Grace)
	if state.Hold != nil && state.Hold.Reason == binding.Returning {
		grace = 0 // no cluster gets it
	}
	if state.Change != nil {
		grace = max(grace, state.Change.Grace)
	}
	if state.Grant == nil || grace <= state.Grant.Grace {
		return 0
	}
	return grace
}

// given returns notes of claims and claim templates that pods of the workload may name, and that its grant does not note yet. Clusters have not
// seen what replaced the template of a workload that is held.
func (c *change) given(state *binding.State) (notes []string) {
	if state.Change != nil {
		notes = state.Change.Given
	}
	if state.Hold.Hides() && state.Hold.Reason == binding.Growing {
		return notes
	}
	return binding.AddGiven(notes, unnoted(c.before, state.Grant))
}

// isOf reports whether a binding belongs to the workload. A batch Job and a Volcano Job of the same name would have the same
// binding. Karmada gives it to the first one.
func (c *change) isOf(rb *workv1alpha2.ResourceBinding) bool {
	return c.hasNameOf(rb) && (rb.Spec.Resource.UID == "" || rb.Spec.Resource.UID == c.after.UID)
}

// hasNameOf reports whether the workload is, or takes the place of, the object of a binding.
func (c *change) hasNameOf(rb *workv1alpha2.ResourceBinding) bool {
	object := &rb.Spec.Resource
	group, err := schema.ParseGroupVersion(object.APIVersion)
	return err == nil && group.Group == c.group && object.Kind == c.after.Kind && object.Name == c.after.Name
}

func (c *change) name() string {
	return fmt.Sprintf("%s %s/%s", c.after.Kind, c.after.Namespace, c.after.Name)
}
