// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// ErrNotEnabled says that this scheduler does not serve claims.
var ErrNotEnabled = errors.New("the scheduler does not allocate devices: set predicate.DynamicResourceAllocationEnable to true in the arguments of the plugin predicates")

// ClaimReader reads claims as this scheduler knows them: with the allocations in flight. Without a Cache, which
// may be nil, it returns ErrNotEnabled.
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

// ExtendedClaim implements dra.ClaimReader. While a claim is created, the API server's has no devices yet, and the pending one
// stands for it.
func (r ClaimReader) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	if r.Cache == nil {
		return nil
	}
	claim := r.Reader.ExtendedClaim(pod)
	if claim != nil && claim.Status.Allocation != nil {
		return claim
	}
	if pending := r.pending.ExtendedOf(pod.UID); pending != nil {
		return pending
	}
	// The claim may have been created between the two reads.
	return r.Reader.ExtendedClaim(pod)
}

// InUse returns a claim as it is now, and whether it is allocated or about to be allocated.
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

// inUseInMemory is InUse for an extended claim in memory. The one that the API server has got of it replaces it.
func (r ClaimReader) inUseInMemory(claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool) {
	pending := r.pending.Of(claim.UID) // it ends only when the other can be read
	if created := r.created(claim); created != nil && created.Status.Allocation != nil {
		return created, true
	}
	return pending, pending != nil
}

// Allocated returns the claims that the API server has with an allocation. There are none without a Cache.
func (r ClaimReader) Allocated() ([]*resourceapi.ResourceClaim, error) {
	if r.Cache == nil {
		return nil, nil
	}
	claims, err := r.Reader.Claims()
	return slices.DeleteFunc(claims, func(claim *resourceapi.ResourceClaim) bool { return claim.Status.Allocation == nil }), err
}
