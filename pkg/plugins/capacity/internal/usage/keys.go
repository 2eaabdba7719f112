// SPDX-License-Identifier: Apache-2.0

package usage

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/dra"
)

// resourcesOf returns the key of the resources of a pod. Its cards are a part of their own.
func resourcesOf(pod *corev1.Pod) accounting.Key { return accounting.Key(pod.UID) + "/resources" }

// keyOf returns the key of a claim. The claim for the extended resources of a pod is in memory before the API server has it, and has another
// UID there.
func keyOf(object *resourceapi.ResourceClaim) accounting.Key {
	if owner := metav1.GetControllerOf(object); owner != nil && dra.IsExtended(object) {
		return accounting.Key(owner.UID) + "/extended"
	}
	return accounting.Key(object.UID)
}
