package capacity

import (
	"errors"
	"sync"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/dra"
)

// errNoDRA is what a pod with claims is told where the scheduler cannot serve it.
var errNoDRA = errors.New("this scheduler hands out no devices: set predicate.DynamicResourceAllocationEnable to true in the arguments of the plugin predicates")

// devices is what outlives sessions of the dealings with resource.k8s.io.
type devices struct {
	*allocation.Reader
	pending *allocation.Pending
	writer  *allocation.Writer
	// freeing has the claims whose devices are being taken back.
	freeing sync.Map
}

// source reads what pods refer to. Without devices there is nothing to read.
type source struct {
	*devices
}

var _ dra.ClaimReader = source{}

// Claim implements dra.ClaimReader. A claim that is being allocated is shown as allocated.
func (s source) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if s.devices == nil {
		return nil, errNoDRA
	}
	claim, err := s.Reader.Claim(namespace, name)
	if err != nil || claim.Status.Allocation != nil {
		return claim, err
	}
	if pending := s.pending.Of(claim.UID); pending != nil {
		return pending, nil
	}
	// It may have been written between the two looks.
	return s.Reader.Claim(namespace, name)
}

// latest returns a claim as it is now where it has been allocated since the session began.
func (s source) latest(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	if claim.Status.Allocation != nil {
		return claim
	}
	if now, err := s.Claim(claim.Namespace, claim.Name); err == nil && now.UID == claim.UID {
		return now
	}
	return claim
}

// ClaimTemplate implements dra.ClaimReader.
func (s source) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	if s.devices == nil {
		return nil, errNoDRA
	}
	return s.Reader.ClaimTemplate(namespace, name)
}

// unwritten reports whether the API server does not have the allocation that a claim is shown with.
func (s source) unwritten(claim *resourceapi.ResourceClaim) bool {
	now, err := s.Reader.Claim(claim.Namespace, claim.Name)
	return err == nil && now.UID == claim.UID && now.Status.Allocation == nil
}

// inUse returns the claim as it is now, and whether its devices are, or are about to be, taken.
func (s source) inUse(claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool) {
	now, err := s.Claim(claim.Namespace, claim.Name)
	if err != nil || now.UID != claim.UID {
		return nil, false
	}
	return now, now.Status.Allocation != nil
}
