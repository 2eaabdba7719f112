// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// OfPod returns the demand of the claims of a pod that exist and can be counted, each claim once.
// The error is about the first of the other claims. It says why the pod cannot be counted in full, or
// why it cannot be placed, and names the object that is missing or wrong.
func (cs *Claims) OfPod(pod *corev1.Pod, reader dra.ClaimReader) ([]*Claim, error) {
	var counted []*Claim
	var first error
	add := func(object *resourceapi.ResourceClaim, err error) {
		claim, err := cs.checked(object, err)
		if err != nil && first == nil {
			first = err
		}
		if claim != nil && !slices.Contains(counted, claim) {
			counted = append(counted, claim)
		}
	}
	for i := range pod.Spec.ResourceClaims {
		add(dra.ClaimOf(pod, &pod.Spec.ResourceClaims[i], reader))
	}
	if pod.Status.ExtendedResourceClaimStatus != nil {
		add(dra.ExtendedClaimOf(pod, reader))
	}
	return counted, first
}

// checked returns neither a claim nor an error if the pod needs no claim. It returns both if the claim
// counts although the pod cannot use it.
func (cs *Claims) checked(object *resourceapi.ResourceClaim, err error) (*Claim, error) {
	if object == nil {
		return nil, err
	}
	claim := cs.Of(object)
	if err == nil {
		err = claim.Err
	}
	if err == nil {
		err = dra.Check(claim.Object, &claim.Usage, cs.catalog)
	}
	if claim.Err != nil {
		return nil, err
	}
	return claim, err
}
