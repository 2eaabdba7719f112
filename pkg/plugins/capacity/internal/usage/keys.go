// SPDX-License-Identifier: Apache-2.0

package usage

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/accounting"
)

// resourcesOf returns the key of the resources of a pod. Its cards have a separate key.
func resourcesOf(pod *corev1.Pod) accounting.Key { return accounting.Key(pod.UID) + "/resources" }

// keyOf returns the key of a claim. The claim for the extended resources of a pod has its final UID before the pod has its node.
func keyOf(object *resourceapi.ResourceClaim) accounting.Key { return accounting.Key(object.UID) }
