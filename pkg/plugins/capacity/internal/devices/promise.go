// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// promise is the allocation picked for a claim of pipelined pods.
type promise struct {
	claim allocatedClaim
	// pods are the pipelined pods that use the claim.
	pods map[types.UID]bool
	// withdraw puts the devices back.
	withdraw func()
}

// Promise picks devices on a node for a pipelined pod as if the leaving pods were gone. In this session, no other pod gets these devices
// until Unreserve. Pods that share a claim are promised the same devices. The error says why the pod cannot have its devices there.
func (s *Session) Promise(state *State, node *corev1.Node, leaving []*demand.Pod) error {
	s.withdraw(state.pod)
	promised, err := s.pickWithout(state, node, leaving)
	if err != nil {
		return err
	}
	if s.promises == nil {
		s.promises = map[types.UID]*promise{}
	}
	for _, claim := range promised {
		if s.promises[claim.UID] == nil {
			withdraw := s.allocator.Suppose(nil, []*resourceapi.AllocationResult{claim.Status.Allocation})
			s.notePromise(claim.Status.Allocation)
			s.promises[claim.UID] = &promise{claim: claim, pods: map[types.UID]bool{}, withdraw: withdraw}
		}
		s.promises[claim.UID].pods[state.pod.Object.UID] = true
	}
	return nil
}

// Obtainable returns the amounts of a pod's unallocated claims on a node if the leaving pods were gone. The error says why the
// pod could not have its devices there even then.
func (s *Session) Obtainable(state *State, node *corev1.Node, leaving []*demand.Pod) (ledger.Amounts, error) {
	claims, err := s.pickWithout(state, node, leaving)
	if err != nil {
		return nil, err
	}
	var sum ledger.Amounts
	for i := range claims {
		known := slices.IndexFunc(state.unallocated, func(claim *demand.Claim) bool { return claim.Object.UID == claims[i].UID })
		if known < 0 {
			continue
		}
		amounts, _, err := s.Claims.Picked(state.unallocated[known], claims[i].Status.Allocation)
		if err == nil {
			sum, err = sum.PlusAll(amounts)
		}
		if err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// pickWithout picks devices on a node as if the leaving pods were gone, for the claims that need some. It returns these claims.
// Promised devices are in use.
func (s *Session) pickWithout(state *State, node *corev1.Node, leaving []*demand.Pod) ([]allocatedClaim, error) {
	state, err := s.withDecided(state)
	if err != nil {
		return nil, err
	}
	// This search has a state of its own: its findings are not to be reported.
	search := &State{pod: state.pod, books: s.booksWithout(leaving), open: state.open, effort: state.effort}
	var claims []allocatedClaim
	for _, claim := range state.unallocated {
		if promise := s.promises[claim.Object.UID]; promise != nil {
			claims = append(claims, promise.claim)
		} else {
			search.unallocated = append(search.unallocated, claim)
		}
	}
	for _, claim := range slices.Concat(state.allocated, claims) {
		if err := claim.check(node); err != nil {
			return nil, err
		}
	}
	if len(search.unallocated) == 0 {
		return claims, nil
	}
	freed := append(s.freedBy(leaving), s.freedSoon(node)...)
	defer s.allocator.Suppose(freed, s.promisedOf(freed))()
	picked, err := s.pick(search, node)
	if err != nil {
		return nil, err
	}
	if picked == nil {
		return nil, fmt.Errorf("node %s will not have the devices of the pod's ResourceClaims when the pods that are leaving are gone", node.Name)
	}
	for i, claim := range search.unallocated {
		object := *claim.Object
		object.Status.Allocation = &picked.results[i]
		allocated, err := allocatedClaimOf(&object)
		if err != nil {
			return nil, err
		}
		claims = append(claims, allocated)
	}
	return claims, nil
}

// booksWithout returns the ledger as if the leaving pods were gone.
func (s *Session) booksWithout(leaving []*demand.Pod) *ledger.Ledger {
	books := s.Ledger.View()
	for _, pod := range leaving {
		if err := books.ReleaseHeld(ledger.Holder(pod.Object.UID), pod.Demand); err != nil {
			klog.ErrorS(err, "Failed to simulate the release of a pod", "pod", klog.KObj(pod.Object))
		}
	}
	return books
}

// promisedOf returns the promised allocations that contain freed devices.
func (s *Session) promisedOf(freed []*resourceapi.AllocationResult) []*resourceapi.AllocationResult {
	var all []*resourceapi.AllocationResult
	for _, allocation := range freed {
		for i := range allocation.Devices.Results {
			all = append(all, s.promisedDevices[idOf(&allocation.Devices.Results[i])]...)
		}
	}
	return all
}

// notePromise notes the devices of a promise.
func (s *Session) notePromise(allocation *resourceapi.AllocationResult) {
	if s.promisedDevices == nil {
		s.promisedDevices = map[dra.DeviceID][]*resourceapi.AllocationResult{}
	}
	for i := range allocation.Devices.Results {
		id := idOf(&allocation.Devices.Results[i])
		s.promisedDevices[id] = append(s.promisedDevices[id], allocation)
	}
}

// forgetPromise undoes notePromise.
func (s *Session) forgetPromise(allocation *resourceapi.AllocationResult) {
	for i := range allocation.Devices.Results {
		id := idOf(&allocation.Devices.Results[i])
		s.promisedDevices[id] = slices.DeleteFunc(s.promisedDevices[id], func(other *resourceapi.AllocationResult) bool { return other == allocation })
	}
}

func idOf(result *resourceapi.DeviceRequestAllocationResult) dra.DeviceID {
	return dra.DeviceID{Driver: result.Driver, Pool: result.Pool, Device: result.Device}
}

// freedBy returns the allocations that are unused after pods have gone.
func (s *Session) freedBy(leaving []*demand.Pod) []*resourceapi.AllocationResult {
	gone := map[types.UID]bool{}
	for _, pod := range leaving {
		gone[pod.Object.UID] = true
	}
	var freed []*resourceapi.AllocationResult
	for _, pod := range leaving {
		for _, claim := range pod.Claims {
			if object := s.latest(claim.Object); object.Status.Allocation != nil && usedOnlyBy(gone, object) {
				freed = append(freed, object.Status.Allocation)
			}
		}
	}
	return freed
}

// freedSoon returns the unused allocations on a node that the allocator counts as in use.
func (s *Session) freedSoon(node *corev1.Node) []*resourceapi.AllocationResult {
	if s.unused == nil {
		s.unused = s.findUnused()
	}
	var freed []*resourceapi.AllocationResult
	for i := range s.unused {
		if s.unused[i].check(node) == nil {
			freed = append(freed, s.unused[i].Status.Allocation)
		}
	}
	return freed
}

func (s *Session) findUnused() []allocatedClaim {
	unused := []allocatedClaim{}
	for _, object := range s.allocated {
		if !s.Leaving(object) {
			continue
		}
		if claim, err := allocatedClaimOf(object); err == nil {
			unused = append(unused, claim)
		}
	}
	return unused
}

// usedOnlyBy reports whether a claim is reserved for at least one of these pods, and for no other pod.
func usedOnlyBy(pods map[types.UID]bool, claim *resourceapi.ResourceClaim) bool {
	for _, consumer := range claim.Status.ReservedFor {
		if !pods[consumer.UID] {
			return false
		}
	}
	return len(claim.Status.ReservedFor) > 0
}

// withdraw undoes Promise.
func (s *Session) withdraw(pod *demand.Pod) {
	for _, claim := range pod.Claims {
		promise := s.promises[claim.Object.UID]
		if promise == nil || !promise.pods[pod.Object.UID] {
			continue
		}
		delete(promise.pods, pod.Object.UID)
		if len(promise.pods) == 0 {
			promise.withdraw()
			s.forgetPromise(promise.claim.Status.Allocation)
			delete(s.promises, claim.Object.UID)
		}
	}
}
