// SPDX-License-Identifier: Apache-2.0

package members

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/demand/requests"
)

// strip removes what nobody asks for from the objects of members, because the objects stay in memory. Objects of other types, such
// as the mark of a deletion, stay as they are.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		return &corev1.Node{ObjectMeta: named(o), Status: corev1.NodeStatus{Allocatable: extended(o.Status.Allocatable)}}, nil
	case *corev1.Pod:
		pod := &corev1.Pod{ObjectMeta: named(o), Status: corev1.PodStatus{Phase: o.Status.Phase}}
		pod.Labels = nil
		pod.Spec.NodeName = o.Spec.NodeName
		if asked := extended(requests.OfPod(o)); len(asked) > 0 {
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: asked}}}
		}
		return pod, nil
	case *resourceapi.ResourceClaim:
		claim := &resourceapi.ResourceClaim{ObjectMeta: named(o)}
		claim.Labels = nil
		if allocation := o.Status.Allocation; allocation != nil {
			claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: allocation.Devices.Results}}
		}
		return claim, nil
	case metav1.Object:
		o.SetManagedFields(nil)
	}
	return object, nil
}

// named returns what identifies an object, and its labels.
func named(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Labels: o.GetLabels()}
}

// extended returns the resources that may be cards: those of a vendor.
func extended(all corev1.ResourceList) corev1.ResourceList {
	var list corev1.ResourceList
	for name, quantity := range all {
		if !strings.Contains(string(name), "/") {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = quantity
	}
	return list
}
