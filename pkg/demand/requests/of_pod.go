// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// OfPod returns the effective requests of a pod, as kube-scheduler and the kubelet count them. This is the sum of containers and sidecars,
// or the largest init container if that is more, or the request of the pod as a whole (KEP-2837), plus the overhead. During an in-place
// resize (KEP-1287), a container counts with the largest of its current and desired resources. A node without support for pod-level
// requests counts the containers, so they count if they request more.
//
// Uncountable quantities count as the largest countable one.
func OfPod(pod *corev1.Pod) corev1.ResourceList {
	if CheckPod(&pod.Spec) != nil {
		pod = &corev1.Pod{Spec: *boundedPod(&pod.Spec), Status: pod.Status}
	}
	all := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	if pod.Spec.Resources == nil {
		return all
	}
	for name, ofContainers := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true, SkipPodLevelResources: true}) {
		if ofContainers.Cmp(all[name]) > 0 {
			all[name] = ofContainers
		}
	}
	return all
}

// MoreThanContainers reports whether a pod has requests that Volcano's TaskInfo lacks: requests of the pod as a whole, or overhead in
// addition to an init container, which may have the largest request.
func MoreThanContainers(pod *corev1.Pod) bool {
	return pod.Spec.Resources != nil || len(pod.Spec.Overhead) > 0 && len(pod.Spec.InitContainers) > 0
}

// Beside returns the entries of OfPod for resources that the pod requests as a whole or as overhead.
func Beside(pod *corev1.Pod) corev1.ResourceList {
	beside := OfPod(pod)
	maps.DeleteFunc(beside, func(name corev1.ResourceName, _ resource.Quantity) bool {
		_, ofOverhead := pod.Spec.Overhead[name]
		ofPod := false
		if pod.Spec.Resources != nil {
			_, ofPod = pod.Spec.Resources.Requests[name]
		}
		return !ofOverhead && !ofPod
	})
	return beside
}

// Value returns a quantity in Volcano's unit of a resource: bytes of memory, number of pods, and thousandths of all others. It accepts sums
// that are not Countable.
func Value(name corev1.ResourceName, quantity resource.Quantity) float64 {
	const thousandths = 1000
	whole := name == corev1.ResourceMemory || name == corev1.ResourcePods
	switch {
	case !Countable(quantity) && whole:
		return quantity.AsApproximateFloat64()
	case !Countable(quantity):
		return quantity.AsApproximateFloat64() * thousandths
	case whole:
		return float64(quantity.Value())
	default:
		return float64(quantity.MilliValue())
	}
}
