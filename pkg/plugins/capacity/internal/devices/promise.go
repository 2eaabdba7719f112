// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// promise is what was picked for a pipelined pod.
type promise struct {
	allocations []*resourceapi.AllocationResult
	// withdraw undoes that the devices are in use.
	withdraw func()
}

// Promise picks devices on a node for a pod that is pipelined, as if the leaving pods were gone. Nobody else gets these
// devices in this session, until Unreserve. The error says why the pod cannot have its devices there.
func (s *Session) Promise(state *State, node *corev1.Node, leaving []*demand.Pod) error {
	allocations, err := s.pickWithout(state, node, leaving)
	if err != nil || len(allocations) == 0 {
		return err
	}
	s.withdraw(state.pod)
	if s.promises == nil {
		s.promises = map[types.UID]promise{}
	}
	s.promises[state.pod.Object.UID] = promise{allocations, s.allocator.Suppose(nil, allocations)}
	return nil
}

// Obtainable returns an error if a pod could not have its devices on a node even if the leaving pods were gone.
func (s *Session) Obtainable(state *State, node *corev1.Node, leaving []*demand.Pod) error {
	_, err := s.pickWithout(state, node, leaving)
	return err
}

// pickWithout picks devices on a node as if the leaving pods were gone, for the claims that need some. Devices that are
// promised are in use.
func (s *Session) pickWithout(state *State, node *corev1.Node, leaving []*demand.Pod) ([]*resourceapi.AllocationResult, error) {
	state, err := s.withDecided(state)
	if err != nil {
		return nil, err
	}
	for i := range state.allocated {
		if err := state.allocated[i].check(node); err != nil {
			return nil, err
		}
	}
	if len(state.unallocated) == 0 {
		return nil, nil
	}
	defer s.allocator.Suppose(s.freedBy(leaving), s.promised())()
	// What this search finds out is no reason to report, so that it has a state of its own.
	picked, err := s.pick(&State{pod: state.pod, books: s.booksWithout(leaving), unallocated: state.unallocated, open: state.open, effort: state.effort}, node)
	if err != nil {
		return nil, err
	}
	if picked == nil {
		return nil, fmt.Errorf("node %s will not have the devices of the pod's ResourceClaims when the pods that are leaving are gone", node.Name)
	}
	allocations := make([]*resourceapi.AllocationResult, len(picked.results))
	for i := range picked.results {
		allocations[i] = &picked.results[i]
	}
	return allocations, nil
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

func (s *Session) promised() []*resourceapi.AllocationResult {
	var all []*resourceapi.AllocationResult
	for _, promise := range s.promises {
		all = append(all, promise.allocations...)
	}
	return all
}

// freedBy returns the allocations that nobody uses any more when pods are gone.
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

// usedOnlyBy reports whether a claim is reserved for no other pods than these, and for at least one of them.
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
	if promise, found := s.promises[pod.Object.UID]; found {
		promise.withdraw()
		delete(s.promises, pod.Object.UID)
	}
}
