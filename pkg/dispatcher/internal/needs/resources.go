// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// withDefaults returns the spec with the defaults that the API server of a member cluster sets for pods: a container requests what
// it limits and does not request. Templates do not have these defaults.
func withDefaults(spec *corev1.PodSpec) *corev1.PodSpec {
	copied := *spec
	copied.InitContainers, copied.Containers = requestLimits(spec.InitContainers), requestLimits(spec.Containers)
	if spec.Resources != nil {
		copied.Resources = &corev1.ResourceRequirements{Requests: requestsOf(spec.Resources, ofContainers(&copied))}
	}
	return &copied
}

// ofContainers returns the sum of the requests of all containers of a pod.
func ofContainers(spec *corev1.PodSpec) corev1.ResourceList {
	return resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
}

func requestLimits(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		containers[i].Resources.Requests = requestsOf(&containers[i].Resources, nil)
	}
	return containers
}

// requestsOf returns the requests, plus the limits of resources that neither this container nor others request.
func requestsOf(resources *corev1.ResourceRequirements, others corev1.ResourceList) corev1.ResourceList {
	requests := maps.Clone(resources.Requests)
	for name, limit := range resources.Limits {
		_, requested := requests[name]
		if _, byOthers := others[name]; requested || byOthers {
			continue
		}
		if requests == nil {
			requests = corev1.ResourceList{}
		}
		requests[name] = limit
	}
	return requests
}

// resources returns the resources of a pod. Names that no quota lists do not count, because users may write any name.
func (w *counting) resources(requests corev1.ResourceList) ledger.Amounts {
	requests = w.withoutDevices(requests)
	delete(requests, corev1.ResourcePods)
	amounts, _ := w.counter.Resources.Minimum(requests, ledger.Amounts{{Dimension: w.counter.Resources.Pods, Amount: ledger.Units(1)}})
	return amounts
}
