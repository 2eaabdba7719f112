// SPDX-License-Identifier: Apache-2.0

package workload

import (
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
)

// OfBinding returns a template for a kind that Of does not read, from the findings of Karmada's interpreter: the components of the
// object, or else its replicas and their requirements. It is nil if the interpreter found no pods: then the object is not a workload.
// It never names a queue. A negative number of replicas counts as zero.
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

// WithoutPods returns a template for an object in which Karmada's interpreter finds no pods any more, for example because it was scaled to 0.
func WithoutPods(rb *workv1alpha2.ResourceBinding) *Template {
	object := &rb.Spec.Resource
	return &Template{
		Kind: object.Kind, Namespace: object.Namespace, Name: object.Name,
		UID: object.UID, ResourceVersion: object.ResourceVersion, Fallback: true,
	}
}

// alike returns pods with one container that requests the requirements of a replica.
func alike(name string, replicas int32, requests corev1.ResourceList, priorityClass string) PodSet {
	count := int64(max(0, replicas))
	return PodSet{Name: name, Count: count, Minimum: count, Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		PriorityClassName: priorityClass,
		Containers:        []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}},
	}}}
}
