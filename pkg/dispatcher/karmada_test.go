// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

const (
	bindingFinalizer = "karmada.io/binding-controller"
	appliedPlacement = "policy.karmada.io/applied-placement"
)

// karmada is the state of Karmada's controllers, which may be older than the store, and of the members.
type karmada struct {
	policies map[string]*policyv1alpha1.Placement
	// scheduler and dispatching are the bindings as the scheduler and the binding controller have seen them.
	scheduler   map[string]*workv1alpha2.ResourceBinding
	dispatching map[string]seen
	// down are the clusters that are away. Suspends are the workloads whose policy suspends dispatching.
	down, suspends map[string]bool
	// suspendsOn has the clusters to which a policy suspends dispatching, by workload.
	suspendsOn map[string][]string
	// content has the content of Works and what members run, by the UID of the Work.
	content map[string]*content
	// ending has deleted pods that still run.
	ending []ending
}

// seen is a binding with its object.
type seen struct {
	binding        *workv1alpha2.ResourceBinding
	replicas, each int64
	// retains says that the object has Karmada's label.
	retains bool
	// at is when it was seen.
	at time.Time
	// generation is the generation of the object.
	generation int64
}

func newKarmada() karmada {
	return karmada{
		policies: map[string]*policyv1alpha1.Placement{}, scheduler: map[string]*workv1alpha2.ResourceBinding{},
		dispatching: map[string]seen{}, suspendsOn: map[string][]string{}, down: map[string]bool{}, suspends: map[string]bool{}, content: map[string]*content{},
	}
}

// templateOf returns the object of a binding, its replicas, and its cores per replica.
func (w *world) templateOf(key string) (o object, replicas, each int64) {
	base, isJob := strings.CutSuffix(key, "-job")
	if isJob {
		if job, _ := w.store[jobs][base].(*batchv1alpha1.Job); job != nil {
			for i := range job.Spec.Tasks {
				replicas += int64(job.Spec.Tasks[i].Replicas)
			}
			return job, replicas, coresOf(&job.Spec.Tasks[0].Template.Spec)
		}
		return nil, 0, 0
	}
	if d, _ := w.store[deployments][strings.TrimSuffix(key, "-deployment")].(*appsv1.Deployment); d != nil {
		return d, int64(*d.Spec.Replicas), coresOf(&d.Spec.Template.Spec)
	}
	return nil, 0, 0
}

// dispatcherUser is the name that dispatchers have on Karmada's API server.
const dispatcherUser = "dispatcher"

// admit calls the webhook of one of the dispatchers for a request of a user.
func (w *world) admit(user, path, operation string, old, o runtime.Object) ctrladmission.Response {
	r := w.replicas[w.rand.IntN(len(w.replicas))]
	req := ctrladmission.Request{}
	req.Operation, req.UserInfo.Username = admissionv1.Operation(operation), user
	req.Object.Raw, _ = json.Marshal(o)
	if old != nil {
		req.OldObject.Raw, _ = json.Marshal(old)
	}
	c := r.dispatcher.cache
	if path == admission.WorkloadsPath {
		return (&admission.Workloads{
			SchedulerNames: w.config.SchedulerNames, Object: c.Object, Binding: c.Binding, Exceeds: c.OfWorkloads.Exceeds, Spares: c.OfWorkloads.Spares, ClaimsLag: c.OfWorkloads.ClaimsLag, Patch: c.Patch,
			Now: func() time.Time { return w.clock },
		}).Handle(w.t.Context(), req)
	}
	return (&admission.Bindings{User: dispatcherUser, Template: c.Template, Exceeds: c.OfBindings.Exceeds, Spares: c.OfBindings.Spares, Told: c.Told, Now: func() time.Time { return w.clock }}).Handle(w.t.Context(), req)
}

// write stores a binding for a Karmada controller, and reports whether the webhook admitted it.
func (w *world) write(rb *workv1alpha2.ResourceBinding) bool {
	rb.APIVersion, rb.Kind = "work.karmada.io/v1alpha2", "ResourceBinding"
	before := w.binding(keyOf(rb))
	operation, old := "CREATE", runtime.Object(nil)
	if before != nil {
		operation, old = "UPDATE", before
	}
	response := w.admit("karmada", admission.BindingsPath, operation, old, rb)
	if !response.Allowed {
		return false
	}
	if len(response.Patches) > 0 {
		patch, _ := json.Marshal(response.Patches)
		if rb = applied(w.t, rb, patch); rb == nil {
			return false
		}
		if again := w.admit("karmada", admission.BindingsPath, operation, old, rb); !again.Allowed || len(again.Patches) > 0 {
			w.t.Errorf("the webhook changes what it has changed, as if another webhook had changed it: %v, %v", again.Patches, again.Result)
		}
	}
	w.save(rb)
	return true
}

// detect acts as Karmada's detector for an object.
func (w *world) detect(key string) {
	o, replicas, _ := w.templateOf(key)
	rb := w.binding(key)
	switch {
	case o == nil || o.GetDeletionTimestamp() != nil:
		if rb != nil {
			w.drop(bindings, key)
		}
		return
	case rb != nil && (rb.Spec.Resource.UID != o.GetUID() || rb.DeletionTimestamp != nil):
		w.drop(bindings, key)
		return
	case rb == nil:
		rb = &workv1alpha2.ResourceBinding{}
		rb.Namespace, rb.Name, _ = cut(key)
		rb.Finalizers = []string{bindingFinalizer}
		rb.Labels = map[string]string{
			workv1alpha2.ResourceBindingPermanentIDLabel: "id-of-" + string(o.GetUID()), policyv1alpha1.PropagationPolicyPermanentIDLabel: "policy",
		}
	default:
		rb = rb.DeepCopy()
	}
	ref := &rb.Spec.Resource
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion()
	ref.APIVersion, ref.Kind = "apps/v1", "Deployment"
	rb.Spec.Replicas = int32(replicas)
	if strings.HasSuffix(key, "-job") {
		ref.APIVersion, ref.Kind = "batch.volcano.sh/v1alpha1", "Job"
		rb.Spec.Replicas = 0
	}
	rb.Spec.Placement = w.policies[key].DeepCopy()
	if rb.Spec.Suspension != nil {
		rb.Spec.Suspension.Dispatching = nil
		rb.Spec.Suspension.DispatchingOnClusters = nil
	}
	if on := w.suspendsOn[key]; len(on) > 0 {
		if rb.Spec.Suspension == nil {
			rb.Spec.Suspension = &workv1alpha2.Suspension{}
		}
		rb.Spec.Suspension.DispatchingOnClusters = &policyv1alpha1.SuspendClusters{ClusterNames: on}
	}
	if w.suspends[key] {
		if rb.Spec.Suspension == nil {
			rb.Spec.Suspension = &workv1alpha2.Suspension{}
		}
		rb.Spec.Suspension.Dispatching = ptr.To(true)
	}
	w.write(rb)
}

// overwrite acts as Karmada's dependencies distributor after a conflict: it writes the annotations of the version of a binding that it has seen.
func (w *world) overwrite(key string) {
	rb, saw := w.binding(key), w.dispatching[key].binding
	if rb == nil || saw == nil || saw.UID != rb.UID {
		return
	}
	rb = rb.DeepCopy()
	rb.Annotations = maps.Clone(saw.Annotations)
	w.note("overwrote annotations of %s: %t", key, w.write(rb))
}

// dispatch acts as Karmada's binding controller for the version of a binding that it has seen.
func (w *world) dispatch(key string) {
	if w.clock.Sub(w.dispatching[key].at) > worksSettle/2 {
		w.see(key, false) // a controller that lags further behind may exceed grants: see worksSettle
	}
	saw := w.dispatching[key]
	rb := saw.binding
	if rb == nil {
		return
	}
	mine := w.worksOf(rb)
	if rb.DeletionTimestamp != nil {
		for _, work := range mine {
			w.drop(works, work)
		}
		if now := w.binding(key); len(mine) == 0 && now != nil && now.UID == rb.UID {
			now = now.DeepCopy()
			now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == bindingFinalizer })
			w.write(now)
		}
		return
	}
	for _, c := range rb.Spec.Clusters {
		if saw.generation == 0 {
			return // the object is gone
		}
		key := "karmada-es-" + c.Name + "/" + rb.Name
		mine = slices.DeleteFunc(mine, func(work string) bool { return work == key })
		work, _ := w.store[works][key].(*workv1alpha1.Work)
		if work != nil && (work.DeletionTimestamp != nil || work.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] != idOf(rb)) {
			continue
		}
		if work == nil {
			work = &workv1alpha1.Work{}
			work.Namespace, work.Name, _ = cut(key)
			work.Labels, work.Finalizers = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: idOf(rb)}, []string{"karmada.io/execution"}
			w.put(works, work)
			w.content[string(work.UID)] = &content{owner: idOf(rb)}
		}
		if generation := strconv.FormatInt(saw.generation, 10); work.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey] != generation {
			work = work.DeepCopy()
			metav1.SetMetaDataAnnotation(&work.ObjectMeta, workv1alpha2.ResourceTemplateGenerationAnnotationKey, generation)
			w.put(works, work)
		}
		told := w.content[string(work.UID)]
		if is := suspendedTo(rb, c.Name); is != ptr.Deref(work.Spec.SuspendDispatching, false) {
			work = work.DeepCopy()
			work.Spec.SuspendDispatching = &is
			w.put(works, work)
		}
		told.suspended = suspendedTo(rb, c.Name)
		told.retains, told.divided = saw.retains, divides(rb.Spec.Placement)
		told.told = pods{saw.generation, saw.replicas, saw.each}
		if rb.Spec.Replicas > 0 {
			told.told.replicas = int64(c.Replicas)
		}
	}
	for _, task := range rb.Spec.GracefulEvictionTasks {
		mine = slices.DeleteFunc(mine, func(work string) bool { return work == "karmada-es-"+task.FromCluster+"/"+rb.Name })
	}
	for _, work := range mine {
		w.drop(works, work)
	}
}

func idOf(rb *workv1alpha2.ResourceBinding) string {
	return rb.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
}

func (w *world) worksOf(rb *workv1alpha2.ResourceBinding) []string {
	var mine []string
	for key, o := range w.store[works] {
		if o.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel] == idOf(rb) {
			mine = append(mine, key)
		}
	}
	slices.Sort(mine)
	return mine
}

// suspendedTo acts as shouldSuspendDispatching of Karmada's binding controller.
func suspendedTo(rb *workv1alpha2.ResourceBinding, cluster string) bool {
	s := rb.Spec.Suspension
	return s != nil && (ptr.Deref(s.Dispatching, false) || s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster))
}
