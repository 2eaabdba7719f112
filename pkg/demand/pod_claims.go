// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxClaims is the maximum number of claims of a pod that waits. A pod has room for the names of some ten thousands, all of which would be read,
// counted, and searched for on each node in every cycle. Not many more fit into the record that a pod with a node has of its claims.
const maxClaims = 64

// tooManyInSpec returns an error for a pod or template with more than maxClaims claims.
func tooManyInSpec(spec *corev1.PodSpec) error {
	if len(spec.ResourceClaims) <= maxClaims {
		return nil
	}
	return fmt.Errorf("it has %d ResourceClaims, and a pod can have at most %d: request more devices in one claim", len(spec.ResourceClaims), maxClaims)
}

// CheckNamed returns an error if the pod templates of a workload name more claims or claim templates than they may. They have the limit of one pod,
// which reads each of them in every cycle, too. Claims from templates are not limited.
func CheckNamed(claims, templates int) error {
	switch {
	case claims > maxClaims:
		return fmt.Errorf("its pod templates name more than %d ResourceClaims: use a ResourceClaimTemplate, or request more devices in one claim", maxClaims)
	case templates > maxClaims:
		return fmt.Errorf("its pod templates name more than %d ResourceClaimTemplates: use the same one for pods that request the same", maxClaims)
	default:
		return nil
	}
}

// ofPod returns the demand of the claims of a pod that exist and can be counted, each claim once. The error is about the first of
// the other claims. It says why the pod cannot be counted completely or cannot be placed, and names the missing or wrong object. last is
// what the references in the spec of the pod led to before.
func (cs *Claims) ofPod(pod *corev1.Pod, reader dra.ClaimReader, last *resolved) ([]*Claim, error) {
	counted, first := cs.ofSpec(pod, reader, last)
	if pod.Status.ExtendedResourceClaimStatus == nil || pod.Spec.NodeName == "" {
		return counted, first // a pod without a node gets another claim, even if its status names one from an earlier attempt
	}
	object := reader.ExtendedClaim(pod)
	check := cs.checked
	if object != nil && standsFor(pod, object) {
		check = func(object *resourceapi.ResourceClaim, _ error) (*Claim, error) {
			return cs.checkedExtended(pod, object)
		}
	}
	claim, err := check(object, nil)
	if claim != nil && !slices.Contains(counted, claim) {
		counted = append(counted, claim)
	}
	return counted, cmp.Or(first, err)
}

// ofSpec is ofPod for the claims in the spec of the pod.
func (cs *Claims) ofSpec(pod *corev1.Pod, reader dra.ClaimReader, last *resolved) ([]*Claim, error) {
	if err := tooManyInSpec(&pod.Spec); err != nil && !dra.Bound(pod) { // a pod with a node counts in any case
		return nil, err
	}
	if !cs.current(last, pod, reader) {
		cs.resolve(last, pod, reader)
	}
	return slices.Clip(last.counted), last.err
}

// checkedExtended is checked for a claim that a scheduler makes for the extended resources of a pod. The pod is charged for the
// resources themselves, so the devices do not count for them. An exception is a request by the implicit name of a class.
func (cs *Claims) checkedExtended(pod *corev1.Pod, object *resourceapi.ResourceClaim) (*Claim, error) {
	if known := cs.claims[object.UID]; known == nil {
		cs.claims[object.UID] = &Claim{Part: ledger.NewPart(nil), extended: dra.ExtendedResources(pod, object), owner: pod.UID}
	} else if known.extended == nil {
		known.extended, known.owner, known.listing = dra.ExtendedResources(pod, object), pod.UID, anew
	}
	return cs.checked(object, nil)
}

// checked returns neither a claim nor an error if the pod needs no claim. It returns both if the claim counts but the pod cannot use it.
func (cs *Claims) checked(object *resourceapi.ResourceClaim, err error) (*Claim, error) {
	if object == nil {
		return nil, err
	}
	claim := cs.Of(object)
	if claim.Err != nil {
		return nil, cmp.Or(err, claim.Err)
	}
	return claim, cmp.Or(err, dra.Check(claim.Object, &claim.Usage, cs.catalog))
}
