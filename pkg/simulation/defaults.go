// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	resourcedefaults "k8s.io/kubernetes/pkg/apis/resource/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/demand"
)

const (
	defaultQueue     = "default"
	defaultScheduler = "volcano"
)

// defaulted returns an object with the defaults of the API server and of Volcano's webhooks. An object from a file may lack them.
func defaulted(object *unstructured.Unstructured, classes []schedulingv1.PriorityClass) (*unstructured.Unstructured, error) {
	switch gvk := object.GroupVersionKind(); gvk.GroupKind().String() {
	case "Pod":
		return change(object, func(pod *corev1.Pod) { defaultPod(pod, classes) })
	case "Job.batch.volcano.sh":
		return change(object, defaultJob)
	case "ResourceClaim.resource.k8s.io":
		return change(object, resourcedefaults.SetObjectDefaults_ResourceClaim)
	case "ResourceClaimTemplate.resource.k8s.io":
		return change(object, resourcedefaults.SetObjectDefaults_ResourceClaimTemplate)
	case "PodGroup.scheduling.volcano.sh":
		out := object.DeepCopy()
		if queue, _, _ := unstructured.NestedString(out.Object, "spec", "queue"); queue == "" {
			return out, unstructured.SetNestedField(out.Object, defaultQueue, "spec", "queue")
		}
		return out, nil
	case "Queue.scheduling.volcano.sh":
		out := object.DeepCopy()
		if state, _, _ := unstructured.NestedString(out.Object, "status", "state"); state == "" {
			return out, unstructured.SetNestedField(out.Object, "Open", "status", "state")
		}
		return out, nil
	}
	return object.DeepCopy(), nil
}

// change changes an object as its Go type.
func change[T any](object *unstructured.Unstructured, change func(*T)) (*unstructured.Unstructured, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	change(typed)
	return asObject(object.GetAPIVersion(), object.GetKind(), typed)
}

func asObject(apiVersion, kind string, typed any) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	return out, nil
}

func defaultPod(pod *corev1.Pod, classes []schedulingv1.PriorityClass) {
	defaults.SetObjectDefaults_Pod(pod)
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	if pod.Spec.Priority == nil {
		value, policy := priorityOf(pod.Spec.PriorityClassName, classes)
		pod.Spec.Priority, pod.Spec.PreemptionPolicy = ptr.To(value), policy
	}
}

// priorityOf returns the values that the admission of Kubernetes sets in a pod.
func priorityOf(class string, classes []schedulingv1.PriorityClass) (int32, *corev1.PreemptionPolicy) {
	for i := range classes {
		if pc := &classes[i]; class == pc.Name || class == "" && pc.GlobalDefault {
			return pc.Value, pc.PreemptionPolicy
		}
	}
	return 0, nil
}

// priorityClasses returns the PriorityClasses of a state that can be read.
func priorityClasses(state *clusterstate.State) (classes []schedulingv1.PriorityClass) {
	for i := range state.Items {
		var pc schedulingv1.PriorityClass
		if o := &state.Items[i]; o.GetKind() == "PriorityClass" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pc) == nil {
			classes = append(classes, pc)
		}
	}
	return classes
}

// defaultJob sets the defaults of Volcano's webhook.
func defaultJob(job *batchv1alpha1.Job) {
	if job.Spec.Queue == "" {
		job.Spec.Queue = defaultQueue
	}
	if job.Spec.SchedulerName == "" {
		job.Spec.SchedulerName = defaultScheduler
	}
	demand.SetTaskDefaults(&job.Spec)
}
