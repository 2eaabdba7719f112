// SPDX-License-Identifier: Apache-2.0

package workload

import (
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
)

// OfBinding returns what Karmada's interpreter found in an object of a kind that Of does not read: its components, or else
// its replicas and what each of them requires. The template is nil if the interpreter found no pods: the object is no
// workload then. It never names a queue. A negative number of replicas counts as none.
func OfBinding(rb *workv1alpha2.ResourceBinding) *Template {
	t := WithoutPods(rb)
	for i := range rb.Spec.Components {
		c := &rb.Spec.Components[i]
		each := workv1alpha2.ComponentReplicaRequirements{}
		if c.ReplicaRequirements != nil {
			each = *c.ReplicaRequirements
		}
		t.Pods = append(t.Pods, alike(c.Name, c.Replicas, each.ResourceRequest, each.PriorityClassName))
	}
	if len(t.Pods) == 0 && (rb.Spec.ReplicaRequirements != nil || rb.Spec.Replicas > 0) {
		each := workv1alpha2.ReplicaRequirements{}
		if rb.Spec.ReplicaRequirements != nil {
			each = *rb.Spec.ReplicaRequirements
		}
		t.Pods = append(t.Pods, alike("", rb.Spec.Replicas, each.ResourceRequest, each.PriorityClassName))
	}
	if len(t.Pods) == 0 {
		return nil
	}
	t.PriorityClass, t.Grace = t.commonPriorityClass(), t.longestGrace()
	return t
}

// WithoutPods returns a template without pods: that of an object in which Karmada's interpreter finds none any more, such as
// one that was scaled to 0.
func WithoutPods(rb *workv1alpha2.ResourceBinding) *Template {
	object := &rb.Spec.Resource
	return &Template{
		Kind: object.Kind, Namespace: object.Namespace, Name: object.Name,
		UID: object.UID, ResourceVersion: object.ResourceVersion, Fallback: true,
	}
}

// alike returns pods of one container that requests all that a replica requires.
func alike(name string, replicas int32, requests corev1.ResourceList, priorityClass string) PodSet {
	count := int64(max(0, replicas))
	return PodSet{Name: name, Count: count, Minimum: count, Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		PriorityClassName: priorityClass,
		Containers:        []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}},
	}}}
}
