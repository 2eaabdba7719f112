// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
)

// ErrNotEnabled says that this scheduler does not serve claims.
var ErrNotEnabled = errors.New("the scheduler does not allocate devices: set predicate.DynamicResourceAllocationEnable to true in the arguments of the plugin predicates")

// ClaimReader reads claims as this scheduler knows them, including the allocations in flight. The Cache may be nil:
// then the reader returns ErrNotEnabled.
type ClaimReader struct {
	*Cache
}

var _ dra.ClaimReader = ClaimReader{}

// Claim implements dra.ClaimReader.
func (r ClaimReader) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if r.Cache == nil {
		return nil, ErrNotEnabled
	}
	claim, err := r.Reader.Claim(namespace, name)
	if err != nil || claim.Status.Allocation != nil {
		return claim, err
	}
	if pending := r.pending.Of(claim.UID); pending != nil {
		return pending, nil
	}
	// The allocation may have been written between the two reads.
	return r.Reader.Claim(namespace, name)
}

// ClaimTemplate implements dra.ClaimReader.
func (r ClaimReader) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	if r.Cache == nil {
		return nil, ErrNotEnabled
	}
	return r.Reader.ClaimTemplate(namespace, name)
}

// ExtendedClaim implements dra.ClaimReader. While a claim is being created, its version in the API server has no devices yet.
// The pending claim replaces it.
func (r ClaimReader) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	switch {
	case r.Cache == nil:
		return nil
	case dra.Bound(pod):
		return r.extendedOfBound(pod)
	}
	claim := r.extendedOfUnbound(pod)
	if claim != nil && claim.Status.Allocation != nil {
		return claim
	}
	if pending := r.pending.ExtendedOf(pod.UID); pending != nil {
		return pending
	}
	// The claim may have been created between the two reads.
	return r.extendedOfUnbound(pod)
}

// extendedOfUnbound returns the claim that a scheduler created for the extended resources of an unbound pod, nil if there is none. A
// claim that the pod itself names does not count, no matter what a user has written to it since.
func (r ClaimReader) extendedOfUnbound(pod *corev1.Pod) *resourceapi.ResourceClaim {
	claim := r.Reader.ExtendedClaim(pod)
	if claim == nil {
		return nil
	}
	named := func(reference corev1.PodResourceClaim) bool {
		return ptr.Deref(reference.ResourceClaimName, "") == claim.Name
	}
	made := func(status corev1.PodResourceClaimStatus) bool {
		return ptr.Deref(status.ResourceClaimName, "") == claim.Name
	}
	if slices.ContainsFunc(pod.Spec.ResourceClaims, named) || slices.ContainsFunc(pod.Status.ResourceClaimStatuses, made) {
		return nil
	}
	return claim
}

// extendedOfBound returns the extended claim that the status of a pod names or, if there is none, its record. It finds the claim even
// if the claim was deleted or lost its reservation while the pod uses it.
func (r ClaimReader) extendedOfBound(pod *corev1.Pod) *resourceapi.ResourceClaim {
	var name string
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		name = status.ResourceClaimName
	} else if name = chargerecord.ExtendedClaimOf(pod); name == "" {
		return r.pending.ExtendedOf(pod.UID)
	}
	if claim, err := r.Reader.Claim(pod.Namespace, name); err == nil && (dra.HeldBy(pod, claim) || chargerecord.Lists(pod, claim)) {
		return claim
	}
	for _, claim := range r.LostClaims(pod.UID) {
		if claim.Name == name {
			return claim
		}
	}
	return nil
}

// LostClaims implements dra.ClaimReader.
func (r ClaimReader) LostClaims(pod types.UID) []*resourceapi.ResourceClaim {
	if r.Cache == nil {
		return nil
	}
	return r.Reader.LostClaims(pod)
}

// InUse returns the current version of a claim, and whether it is allocated or about to be.
func (r ClaimReader) InUse(claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool) {
	if dra.InMemory(claim) && r.Cache != nil {
		return r.inUseInMemory(claim)
	}
	now, err := r.Claim(claim.Namespace, claim.Name)
	if err != nil || now.UID != claim.UID {
		return nil, false
	}
	return now, now.Status.Allocation != nil
}

// inUseInMemory is InUse for an in-memory extended claim. The claim created in the API server replaces it.
func (r ClaimReader) inUseInMemory(claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool) {
	pending := r.pending.Of(claim.UID) // it ends only after the created claim can be read
	if created := r.created(claim); created != nil && created.Status.Allocation != nil {
		return created, true
	}
	return pending, pending != nil
}

// Allocated returns the claims that are allocated in the API server, including claims that were deleted while pods use them. Without
// a Cache, there are none.
func (r ClaimReader) Allocated() ([]*resourceapi.ResourceClaim, error) {
	if r.Cache == nil {
		return nil, nil
	}
	return r.Reader.Allocated()
}
