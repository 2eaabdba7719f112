package demand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// OfPod returns what those claims of a pod come to that exist and can be counted, each once.
// The error, if there is one, is about the first of the others: it says why the pod cannot
// be counted in full, or not be placed, naming the object that is missing or wrong.
func OfPod(pod *corev1.Pod, source dra.ClaimReader, claims *Claims) ([]*Claim, error) {
	var counted []*Claim
	var first error
	add := func(object *resourceapi.ResourceClaim, err error) {
		claim, err := claims.checked(object, err)
		if err != nil && first == nil {
			first = err
		}
		if claim != nil && !slices.Contains(counted, claim) {
			counted = append(counted, claim)
		}
	}
	for i := range pod.Spec.ResourceClaims {
		add(dra.ClaimOf(pod, &pod.Spec.ResourceClaims[i], source))
	}
	if pod.Status.ExtendedResourceClaimStatus != nil {
		add(dra.ExtendedClaimOf(pod, source))
	}
	return counted, first
}

// checked returns neither claim nor error where a pod needs no claim after all, and both where
// the claim counts although the pod cannot use it.
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
