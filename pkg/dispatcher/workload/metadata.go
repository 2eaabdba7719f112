// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// queueName is the annotation, and the label, that names a queue.
const queueName = schedulingv1beta1.QueueNameAnnotationKey

// identified returns a template of the object, still without pods.
func identified(kind schema.GroupVersionKind, object metav1.Object) *Template {
	return &Template{
		Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
		UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Generation: object.GetGeneration(),
		ForVolcano: kind.Group == batchv1alpha1.GroupName || kind.Group == schedulingv1beta1.GroupName,
	}
}

// describe fills in the fields that come from the metadata of an object and its pods, unless they are set.
func (t *Template) describe(object metav1.Object) {
	annotations, labels := []map[string]string{}, []map[string]string{}
	for i := range t.Pods {
		pods := t.Pods[i].Template
		annotations, labels = append(annotations, pods.Annotations), append(labels, pods.Labels)
	}
	annotations, labels = append(annotations, object.GetAnnotations()), append(labels, object.GetLabels())
	if named := first(queueName, slices.Concat(annotations, labels)); t.Queue == "" || t.Queue == schedulingv1beta1.DefaultQueue {
		t.Queue = cmp.Or(named, t.Queue)
	}
	if t.PriorityClass == "" {
		t.PriorityClass = t.commonPriorityClass()
	}
	t.RetainsReplicas = object.GetLabels()[retainReplicas] == "true"
	t.Grace = t.longestGrace()
}

// retainReplicas is the label that makes Karmada leave the number of replicas to autoscalers in the member clusters.
const retainReplicas = "resourcetemplate.karmada.io/retain-replicas"

// maxGrace bounds the grace period of pods, in seconds. It is a hundred years.
const maxGrace = 100 * 365 * 24 * 60 * 60

// longestGrace returns the longest grace period of all pods, in seconds.
func (t *Template) longestGrace() int64 {
	var longest int64
	for i := range t.Pods {
		longest = max(longest, ptr.Deref(t.Pods[i].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))
	}
	return min(longest, maxGrace)
}

// QueueOf returns the queue that the annotations or labels of an object name, empty if there is none.
func QueueOf(object metav1.Object) string {
	return first(queueName, []map[string]string{object.GetAnnotations(), object.GetLabels()})
}

// first returns the first non-empty value of a name.
func first(name string, in []map[string]string) string {
	for _, values := range in {
		if value := values[name]; value != "" {
			return value
		}
	}
	return ""
}

// commonPriorityClass returns the PriorityClass that all pods name, empty if they differ.
func (t *Template) commonPriorityClass() string {
	class := ""
	for i := range t.Pods {
		named := t.Pods[i].Template.Spec.PriorityClassName
		if i > 0 && named != class {
			return ""
		}
		class = named
	}
	return class
}

// findScheduler sets ForVolcano if pods name one of the schedulers.
func (t *Template) findScheduler(names []string) {
	t.ForVolcano = t.ForVolcano || slices.ContainsFunc(t.Pods, func(p PodSet) bool {
		return slices.Contains(names, p.Template.Spec.SchedulerName)
	})
}

func groupOf(pods *corev1.PodTemplateSpec) string {
	return pods.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
}
