package devices

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reserve takes the devices that were picked for a pod on a node. The caller calls Unreserve if it fails. Unlike
// upstream, the caller passes the node of the task: the node of the pod is not set if the pod is only
// pipelined (volcano pull request 5884).
func (s *Session) Reserve(state *State, node *corev1.Node) error {
	picked, err := s.validPick(state, node)
	if err != nil {
		return err
	}
	pod := state.pod.Object.UID
	for i, claim := range state.unallocated {
		amounts := claim.Part.Amounts()
		if picked.amounts != nil {
			amounts = picked.amounts[i]
		}
		if err := s.take(claim, &picked.results[i], amounts, pod, node); err != nil {
			return err
		}
	}
	for i := range state.allocated {
		if err := s.join(&state.allocated[i], pod, node); err != nil {
			return err
		}
	}
	return nil
}

// take takes what was picked for a claim. If Volcano went back to an earlier choice of nodes, in which
// another pod was first, the pod gets what that pod has.
func (s *Session) take(claim *demand.Claim, result *resourceapi.AllocationResult, amounts ledger.Amounts, pod types.UID, node *corev1.Node) error {
	if decided := s.pending.Of(claim.Object.UID); decided != nil {
		if !usableOn(decided, node) {
			return elsewhere(decided)
		}
		s.pending.Add(decided, pod)
		return nil
	}
	allocated := *claim.Object
	allocated.Status.Allocation = result
	s.pending.Add(&allocated, pod)
	s.allocator.Take(result)
	return s.Assign(claim, amounts)
}

// join notes that the pod needs an allocation that is still to be written.
func (s *Session) join(claim *allocatedClaim, pod types.UID, node *corev1.Node) error {
	if err := claim.check(node); err != nil {
		return err
	}
	if !s.unwritten(claim.ResourceClaim) {
		return nil
	}
	if s.pending.Of(claim.UID) == nil {
		return fmt.Errorf("ResourceClaim %s is not being allocated any more", nameOf(claim.ResourceClaim))
	}
	s.pending.Add(claim.ResourceClaim, pod)
	return nil
}

// usableOn reports whether the devices of an allocated claim can be used on a node.
func usableOn(claim *resourceapi.ResourceClaim, node *corev1.Node) bool {
	if claim.Status.Allocation.NodeSelector == nil {
		return true
	}
	selector, err := nodeaffinity.NewNodeSelector(claim.Status.Allocation.NodeSelector)
	return err == nil && selector.Match(node)
}

// validPick returns what was picked for a pod on a node. If devices have been taken or put back since, as when
// Volcano tries several sets of nodes and goes back to the best, it picks again.
func (s *Session) validPick(state *State, node *corev1.Node) (*pick, error) {
	if len(state.unallocated) == 0 {
		return &pick{}, nil
	}
	if picked := state.picks[node.Name]; picked != nil && picked.changes == s.allocator.Changes() {
		return picked, nil
	}
	state.books = s.Held()
	picked, err := s.pick(state, node)
	if err == nil && picked == nil {
		err = fmt.Errorf("node %s no longer has the devices that were picked", node.Name)
	}
	return picked, err
}
