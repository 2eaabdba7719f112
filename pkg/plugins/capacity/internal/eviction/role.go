// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// roleOf returns what pods of a job have in common that are alike to the scheduler. Like upstream, it takes the pods of one task
// of a Job to be alike. Pods without a task are alike if all that decides about nodes is equal.
func roleOf(task *api.TaskInfo) string {
	if task.TaskRole != "" {
		return task.TaskRole
	}
	pod := task.Pod
	decides := struct {
		Labels, Annotations map[string]string
		Spec                corev1.PodSpec
	}{pod.Labels, pod.Annotations, corev1.PodSpec{
		NodeSelector: pod.Spec.NodeSelector, Affinity: pod.Spec.Affinity, Tolerations: pod.Spec.Tolerations, Volumes: pod.Spec.Volumes,
		TopologySpreadConstraints: pod.Spec.TopologySpreadConstraints, ResourceClaims: pod.Spec.ResourceClaims, Overhead: pod.Spec.Overhead,
		HostNetwork: pod.Spec.HostNetwork, Containers: needsOf(pod.Spec.Containers), InitContainers: needsOf(pod.Spec.InitContainers),
	}}
	text, err := json.Marshal(decides)
	if err != nil {
		return string(task.UID) // alike to nobody
	}
	return string(text)
}

// needsOf returns what containers ask for of a node.
func needsOf(containers []corev1.Container) []corev1.Container {
	needs := slices.Clone(containers)
	for i := range needs {
		needs[i] = corev1.Container{Resources: needs[i].Resources, Ports: needs[i].Ports, RestartPolicy: needs[i].RestartPolicy}
	}
	return needs
}
