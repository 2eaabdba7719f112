// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand/requests"
)

// completed adds the requests that Volcano does not count: requests of the pod as a whole. The error says that a request is too large
// to count. Then the pod counts as it does for Volcano and the kubelet.
func completed(values Values, pod *corev1.Pod) (Values, error) {
	if err := requests.CheckPod(&pod.Spec); err != nil {
		return values, err
	}
	if !requests.MoreThanContainers(pod) {
		return values, nil
	}
	values.Scalars = maps.Clone(values.Scalars)
	for name, quantity := range requests.Beside(pod) {
		switch value := requests.Value(name, quantity); name {
		case corev1.ResourceCPU:
			values.MilliCPU = value
		case corev1.ResourceMemory:
			values.Memory = value
		default:
			if values.Scalars == nil {
				values.Scalars = map[corev1.ResourceName]float64{}
			}
			values.Scalars[name] = value
		}
	}
	return values, nil
}
