// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// byOwner is the index of extended claims by the UID of their owner pod.
const byOwner = "extended-by-owner"

func owningPod(object any) ([]string, error) {
	if claim, ok := object.(*resourceapi.ResourceClaim); ok && dra.IsExtended(claim) {
		if owner := metav1.GetControllerOf(claim); owner != nil && owner.Kind == "Pod" {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

// ExtendedClaim returns the extended claim of a pod in the API server, or nil. It includes an allocation written by this
// scheduler even before the watch delivers it.
func (r *Reader) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	objects, err := r.extended.ByIndex(byOwner, string(pod.UID))
	if err != nil {
		klog.ErrorS(err, "Failed to look for the extended claim of a pod", "pod", klog.KObj(pod))
	}
	var claims []*resourceapi.ResourceClaim
	for _, object := range objects {
		claim := object.(*resourceapi.ResourceClaim)
		if now, err := r.Claim(claim.Namespace, claim.Name); err == nil && now.UID == claim.UID && now.Namespace == pod.Namespace {
			claims = append(claims, now)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	return slices.MinFunc(claims, func(a, b *resourceapi.ResourceClaim) int {
		return cmp.Or(cmp.Compare(doubt(pod, a), doubt(pod, b)), cmp.Compare(a.Name, b.Name))
	})
}

// doubt ranks extended claims of a pod: the lower, the more likely a scheduler made the claim. Any user can write the
// annotation and the owner, so a pod may have several.
func doubt(pod *corev1.Pod, claim *resourceapi.ResourceClaim) int {
	status := pod.Status.ExtendedResourceClaimStatus
	switch {
	case status != nil && status.ResourceClaimName == claim.Name:
		return 0
	case claim.Status.Allocation != nil:
		return 1
	case len(dra.ExtendedNames(pod, claim)) > 0:
		return 2
	default:
		return 3
	}
}
