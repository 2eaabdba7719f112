// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
)

// roles tell which pods of a job are alike to the scheduler. Their keys have the size of a hash, because users decide how large pods and claims are.
type roles struct {
	// known has the keys of pods: each domain asks for them again.
	known map[*corev1.Pod]string
	// claims has the keys of claims. Pods share claims, and a claim may be as large as the API server allows.
	claims map[*resourceapi.ResourceClaim]string
}

// of returns a key that is equal for pods of a job that are alike. As in upstream, the pods of one task of a Job are alike. Pods without a
// task are alike if everything that affects the choice of nodes is equal.
func (r *roles) of(task *api.TaskInfo, counted *demand.Pod) string {
	if task.TaskRole != "" {
		return task.TaskRole
	}
	key, known := r.known[task.Pod]
	if !known {
		if r.known == nil {
			r.known = map[*corev1.Pod]string{}
		}
		key = r.read(task, counted)
		r.known[task.Pod] = key
	}
	return key
}

// read is of for a pod without a task that is not remembered.
func (r *roles) read(task *api.TaskInfo, counted *demand.Pod) string {
	pod := task.Pod
	decides := struct {
		Labels, Annotations map[string]string
		Claims              []string
		Spec                corev1.PodSpec
	}{decisive(pod.Labels), annotationsOf(pod), r.claimsOf(counted), corev1.PodSpec{
		NodeSelector: pod.Spec.NodeSelector, Affinity: pod.Spec.Affinity, Tolerations: pod.Spec.Tolerations, Volumes: volumesOf(pod),
		TopologySpreadConstraints: pod.Spec.TopologySpreadConstraints, Overhead: pod.Spec.Overhead,
		HostNetwork: pod.Spec.HostNetwork, Containers: needsOf(pod.Spec.Containers), InitContainers: needsOf(pod.Spec.InitContainers),
	}}
	return hashOf(decides, string(task.UID)) // without a hash, it is alike to no other pod
}

// hashOf returns a hash of the JSON of a value, or other if it has none.
func hashOf(value any, other string) string {
	text, err := json.Marshal(value)
	if err != nil {
		return other
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// needsOf returns the parts of containers that matter to a node.
func needsOf(containers []corev1.Container) []corev1.Container {
	needs := slices.Clone(containers)
	for i := range needs {
		needs[i] = corev1.Container{Resources: needs[i].Resources, Ports: needs[i].Ports, RestartPolicy: needs[i].RestartPolicy}
	}
	return needs
}

// claimsOf returns keys of the parts of a pod's claims that affect the choice of nodes: the request or, for an allocated claim, its identity.
func (r *roles) claimsOf(pod *demand.Pod) []string {
	var all []string
	for _, claim := range pod.Claims {
		if claim.Object.Status.Allocation != nil {
			all = append(all, string(claim.Object.UID))
			continue
		}
		key, known := r.claims[claim.Object]
		if !known {
			if r.claims == nil {
				r.claims = map[*resourceapi.ResourceClaim]string{}
			}
			key = hashOf(claim.Object.Spec, string(claim.Object.UID))
			r.claims[claim.Object] = key
		}
		all = append(all, key)
	}
	return all
}

// indexLabels differ among pods that are alike in all other respects.
var indexLabels = []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, batchv1.JobCompletionIndexAnnotation}

// decisive returns the labels without those that only number pods.
func decisive(labels map[string]string) map[string]string {
	left := maps.Clone(labels)
	for _, label := range indexLabels {
		delete(left, label)
	}
	return left
}

// annotationsOf returns the annotations that say which cards a pod asks for.
func annotationsOf(pod *corev1.Pod) map[string]string {
	left := map[string]string{}
	for _, key := range []string{card.NameAnnotation, card.RequestAnnotation} {
		if value, found := pod.Annotations[key]; found {
			left[key] = value
		}
	}
	return left
}

// volumesOf returns the volumes that may be limited to some nodes.
func volumesOf(pod *corev1.Pod) []corev1.Volume {
	return slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(volume corev1.Volume) bool {
		return volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil && volume.CSI == nil
	})
}

// DependsOnOthers reports whether it depends on the places of other pods which nodes suit a pod.
func DependsOnOthers(spec *corev1.PodSpec) bool {
	return len(spec.TopologySpreadConstraints) > 0 || spec.Affinity != nil && (spec.Affinity.PodAffinity != nil || spec.Affinity.PodAntiAffinity != nil)
}
