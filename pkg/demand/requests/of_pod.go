// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// OfPod returns the effective requests of a pod, as kube-scheduler and the kubelet count them: its containers and sidecars together, the
// largest init container if that is more, or what the pod requests as a whole (KEP-2837), and the overhead. While a pod is being resized in
// place (KEP-1287), a container counts with the largest of what it has and what it shall have. A node that does not know requests of whole
// pods counts the containers, so that these count if they request more.
//
// What cannot be counted counts as the most that can.
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

// MoreThanContainers reports whether a pod requests something that Volcano's TaskInfo lacks: what it requests as a whole, or overhead beside
// an init container, which may request the most.
func MoreThanContainers(pod *corev1.Pod) bool {
	return pod.Spec.Resources != nil || len(pod.Spec.Overhead) > 0 && len(pod.Spec.InitContainers) > 0
}

// Beside returns what OfPod does of the resources that the pod requests besides its containers, as a whole or as overhead.
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
