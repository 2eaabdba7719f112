// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"crypto/sha256"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/nodeorder"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
)

// signature is equal for pods to which each node gives the same answer, as long as the node does not change.
type signature [sha256.Size]byte

// sign returns the signature of a pod after its PrePredicate. The result is false if answers about the pod depend on more than one node.
func (a *Action) sign(task *api.TaskInfo) (signature, bool) {
	spec := &task.Pod.Spec
	if !alone(spec) || !predicates.OneNode(a.session, task) || !nodeorder.OneNode(a.session, task) {
		return signature{}, false
	}
	text, err := lookedAt(spec).Marshal()
	if err != nil {
		return signature{}, false
	}
	text, ok := a.placements.Sign(text, task)
	return sha256.Sum256(text), ok
}

// alone reports whether a pod has nothing in its spec that refers to other pods or to volumes with a place.
func alone(spec *corev1.PodSpec) bool {
	return !eviction.DependsOnOthers(spec) && !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.HostPath == nil
	})
}

// namesClaim reports whether a pod names a claim that exists on its own. Other pods may share it.
func namesClaim(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.ResourceClaimName != nil })
}

// lookedAt returns the parts of a spec that plugins look at when they filter or score a node.
func lookedAt(spec *corev1.PodSpec) *corev1.PodSpec {
	return &corev1.PodSpec{
		InitContainers: ofContainers(spec.InitContainers), Containers: ofContainers(spec.Containers), Overhead: spec.Overhead, Resources: spec.Resources,
		NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations, HostNetwork: spec.HostNetwork,
	}
}

func ofContainers(containers []corev1.Container) []corev1.Container {
	looked := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		looked[i] = corev1.Container{Image: c.Image, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
	}
	return looked
}
