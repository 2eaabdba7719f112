// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// replicated are the kinds of Kubernetes that create pods from one template.
var replicated = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "batch", Kind: "Job"},
}

// maxPods is more than any object in a cluster has. A typing mistake must not use up the memory.
const maxPods = 100_000

func isReplicated(object *unstructured.Unstructured) bool {
	return slices.Contains(replicated, object.GroupVersionKind().GroupKind())
}

// podsSpec has the common fields of the specs of the replicated kinds.
type podsSpec struct {
	Replicas    *int32                 `json:"replicas"`
	Parallelism *int32                 `json:"parallelism"`
	Completions *int32                 `json:"completions"`
	Template    corev1.PodTemplateSpec `json:"template"`
}

// number returns how many pods run at the same time.
func (p *podsSpec) number(kind string) int32 {
	if kind != "Job" {
		return ptr.Deref(p.Replicas, 1)
	}
	return min(ptr.Deref(p.Parallelism, 1), ptr.Deref(p.Completions, ptr.Deref(p.Parallelism, 1)))
}

// checkNumber returns an error if an object needs more pods than a simulation creates.
func checkNumber(pods int64) error {
	if pods < 0 || pods > maxPods {
		return fmt.Errorf("it asks for %d pods, and a simulation makes from 0 to %d", pods, maxPods)
	}
	return nil
}

// checkTasks returns an error if the tasks of a Volcano Job need more pods than a simulation creates.
func checkTasks(job *batchv1alpha1.Job) error {
	pods := int64(0)
	for i := range job.Spec.Tasks {
		if err := checkNumber(int64(job.Spec.Tasks[i].Replicas)); err != nil {
			return err
		}
		pods += int64(job.Spec.Tasks[i].Replicas)
	}
	return checkNumber(pods)
}

// PodsOf returns the pods that Kubernetes creates for a Deployment, ReplicaSet, StatefulSet, or Job. It returns false for other objects.
func PodsOf(object *unstructured.Unstructured) ([]unstructured.Unstructured, bool, error) {
	if !isReplicated(object) {
		return nil, false, nil
	}
	var owner struct {
		Spec podsSpec `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": object.Object["spec"]}, &owner); err != nil {
		return nil, true, unreadable(object, err)
	}
	uid := object.GetUID()
	if uid == "" {
		uid = types.UID(strings.ToLower(fmt.Sprintf("simulated-%s-%s-%s", object.GetKind(), object.GetNamespace(), object.GetName())))
	}
	number := owner.Spec.number(object.GetKind())
	if err := checkNumber(int64(number)); err != nil {
		return nil, true, unreadable(object, err)
	}
	var all []unstructured.Unstructured
	for i := range number {
		pod := &corev1.Pod{ObjectMeta: *owner.Spec.Template.ObjectMeta.DeepCopy(), Spec: *owner.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name, pod.GenerateName = object.GetNamespace(), fmt.Sprintf("%s-%d", object.GetName(), i), ""
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: uid, Controller: ptr.To(true),
		}}
		if least, has := object.GetAnnotations()[schedulingv1beta1.VolcanoGroupMinMemberAnnotationKey]; has {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, schedulingv1beta1.VolcanoGroupMinMemberAnnotationKey, least) // for its PodGroup
		}
		made, err := asObject("v1", "Pod", pod)
		if err != nil {
			return nil, true, err
		}
		all = append(all, *made)
	}
	return all, true, nil
}
