// SPDX-License-Identifier: Apache-2.0

package devices

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
)

// Conflicts lists the devices that several claims hold beyond what sharing allows.
func (s *Session) Conflicts() []dra.Conflict {
	return s.Reader.Conflicts(s.Catalog)
}

// conflictOf returns a conflict that forbids an unbound pod to use the devices of a claim, nil if there is none.
func (s *Session) conflictOf(pod *demand.Pod, claim *resourceapi.ResourceClaim) *dra.Conflict {
	return s.ConflictOf(claim, allocation.Settled(pod.Object, func(namespace, name string) (*corev1.Pod, error) {
		return s.Pods.Pods(namespace).Get(name)
	}))
}
