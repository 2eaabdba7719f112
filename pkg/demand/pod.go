package demand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// OfPod returns what those claims of a pod come to that exist and can be counted, each once.
// The error, if there is one, is about the first of the others: it says why the pod cannot
// be counted in full, naming the object that is missing or wrong.
func OfPod(pod *corev1.Pod, source dra.Source, claims *Claims) ([]*Claim, error) {
	var counted []*Claim
	var first error
	for i := range pod.Spec.ResourceClaims {
		claim, err := ofPodClaim(pod, i, source, claims)
		if err != nil && first == nil {
			first = err
		}
		if claim != nil && !slices.Contains(counted, claim) {
			counted = append(counted, claim)
		}
	}
	return counted, first
}

// ofPodClaim returns neither claim nor error where the pod needs no claim after all.
func ofPodClaim(pod *corev1.Pod, i int, source dra.Source, claims *Claims) (*Claim, error) {
	object, err := dra.ClaimOf(pod, &pod.Spec.ResourceClaims[i], source)
	if err != nil || object == nil {
		return nil, err
	}
	claim := claims.Of(object)
	if claim.Err != nil {
		return nil, claim.Err
	}
	return claim, dra.CheckClasses(claim.Object, claim.Usage, source)
}
