// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reserve takes the devices picked for a pod on a node. If it fails, the caller calls Unreserve. Unlike upstream, the caller
// passes the node of the task: the pod's own node is not set if the pod is only pipelined (volcano pull request 5884).
func (s *Session) Reserve(state *State, node *corev1.Node) error {
	state, err := s.withDecided(state)
	if err != nil {
		return err
	}
	picked, err := s.validPick(state, node)
	if err != nil {
		return err
	}
	pod := state.pod.Object.UID
	if err := s.checkConflicts(state, picked); err != nil {
		return err
	}
	for i, claim := range state.unallocated {
		amounts := claim.Part.Amounts()
		if picked.amounts != nil {
			amounts = picked.amounts[i]
		}
		if err := s.take(claim, &picked.results[i], amounts, pod); err != nil {
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

// checkConflicts returns an error if another scheduler has allocated the devices since they were picked, or since PreFilter.
func (s *Session) checkConflicts(state *State, picked *pick) error {
	for i := range state.allocated {
		if conflict := s.conflictOf(state.pod, state.allocated[i].ResourceClaim); conflict != nil {
			return errors.New(conflict.String())
		}
	}
	for i, claim := range state.unallocated {
		wanted := *claim.Object
		wanted.Status.Allocation = &picked.results[i]
		if conflict := s.conflictOf(state.pod, &wanted); conflict != nil {
			return errors.New(conflict.String())
		}
	}
	return nil
}

// withDecided returns the state of a pod with the devices that other pods now have for its claims. They may have got them since PreFilter, or others instead,
// or none. This happens if Volcano returns to an earlier choice of nodes, in which another pod was first. The state itself is unchanged, because Volcano may
// return again.
func (s *Session) withDecided(state *State) (*State, error) {
	now := &State{pod: state.pod, books: state.books, open: state.open, effort: state.effort, picks: map[string]*pick{}}
	same := true
	for _, claim := range state.pod.Claims {
		decided := s.pending.Of(claim.Object.UID)
		known := slices.IndexFunc(state.allocated, func(a allocatedClaim) bool { return a.UID == claim.Object.UID })
		switch {
		case known >= 0 && (decided == state.allocated[known].ResourceClaim || !s.unwritten(state.allocated[known].ResourceClaim)):
			now.allocated = append(now.allocated, state.allocated[known])
		case decided == nil:
			same = same && known < 0
			now.unallocated = append(now.unallocated, claim)
		default:
			same = false
			allocated, err := allocatedClaimOf(decided)
			if err != nil {
				return nil, err
			}
			now.allocated = append(now.allocated, allocated)
		}
	}
	if same {
		return state, nil
	}
	return now, nil
}

// take takes the devices picked for a claim.
func (s *Session) take(claim *demand.Claim, result *resourceapi.AllocationResult, amounts ledger.Amounts, pod types.UID) error {
	allocated := *claim.Object
	allocated.Status.Allocation = result
	s.pending.Add(&allocated, pod)
	s.allocator.Take(result)
	return claim.Assign(s.Ledger, amounts)
}

// join notes that the pod needs an allocation that is not written yet.
func (s *Session) join(claim *allocatedClaim, pod types.UID, node *corev1.Node) error {
	if err := claim.check(node); err != nil {
		return err
	}
	if s.unwritten(claim.ResourceClaim) {
		s.pending.Add(claim.ResourceClaim, pod)
	}
	return nil
}

// validPick returns the pick for a pod on a node. If devices were taken or put back since, it picks again. This happens
// when Volcano tries several sets of nodes and returns to the best.
func (s *Session) validPick(state *State, node *corev1.Node) (*pick, error) {
	if len(state.unallocated) == 0 {
		return &pick{}, nil
	}
	if picked := s.followed(state, node); picked != nil {
		return picked, nil
	}
	if picked := state.picks[node.Name]; picked != nil && picked.changes == s.allocator.ChangesOn(node.Name) {
		return picked, nil
	}
	state.books = s.Held()
	picked, err := s.pick(state, node)
	if err == nil && picked == nil {
		err = fmt.Errorf("node %s no longer has the devices that were picked", node.Name)
	}
	return picked, err
}
