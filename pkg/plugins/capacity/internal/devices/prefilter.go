// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// PreFilter finds the claims of a pod that need devices. Picked devices must fit books. Long searches are charged to the pod's job.
// before is the state of the pod from an earlier action of the session, nil if there is none. The refusal says why no node is suitable.
func (s *Session) PreFilter(pod *demand.Pod, job string, books *ledger.Ledger, before *State) (*State, report.Refusal) {
	// Allocations in flight count as taken for the rest of the session, even if they are given up.
	if err := s.openAllocator(); err != nil {
		return nil, report.Unplaceable{Err: err}
	}
	state := &State{pod: pod, books: books, picks: map[string]*pick{}, unavailable: map[types.UID]bool{}, effort: s.budget.Of(books.Name(pod.Queue), job)}
	if before != nil {
		// Later actions do not filter nodes again that cannot become suitable.
		state.unavailable = before.unavailable
		// Not every action filters nodes by devices. The known reason is still the one to report.
		state.refusal, state.insufficient, state.others = before.Refusal(), before.insufficient || len(before.lacking) > 0, before.others || len(before.picks) > 0
	}
	for _, claim := range pod.Claims {
		object := s.latest(claim.Object)
		if _, deallocating := s.deallocating.Load(object.UID); deallocating {
			return nil, busy(object, "is losing devices that its pod cannot use")
		}
		if object.Status.Allocation == nil {
			state.unallocated = append(state.unallocated, claim)
			state.open = state.open || claim.Open || s.RefuseUnlisted != nil
			continue
		}
		if refusal := s.refuseAllocated(pod, claim, object); refusal != nil {
			return nil, refusal
		}
		allocated, err := allocatedClaimOf(object)
		if err != nil {
			return nil, report.Unplaceable{Err: err}
		}
		state.allocated = append(state.allocated, allocated)
	}
	if len(state.allocated) > 0 {
		if refusal := s.RefuseJoin(books, pod, pod.Checked); refusal != nil {
			return nil, refusal
		}
	}
	s.recallPod(state)
	return state, nil
}

// RefuseStale refuses a waiting pod that already has a claim for its extended resources in the API server. An attempt to bind the
// pod was interrupted, and the claim may not fit any more. As in kube-scheduler, the claim is deleted, and the pod gets a new one.
func (s *Session) RefuseStale(pod *demand.Pod) report.Refusal {
	if !pod.RequestsExtended() || s.pending.ExtendedOf(pod.Object.UID) != nil {
		return nil
	}
	claim := s.Reader.ExtendedClaim(pod.Object)
	if claim == nil {
		return nil
	}
	s.deallocate(pod.Object, claim)
	return busy(claim, "is left from an earlier attempt to bind the pod, and is being deleted: the pod gets another one")
}

// refuseAllocated returns why a pod cannot use the allocation of a claim, nil if it can. The object is the current version of the claim.
func (s *Session) refuseAllocated(pod *demand.Pod, claim *demand.Claim, object *resourceapi.ResourceClaim) report.Refusal {
	unwritten := s.unwritten(object)
	if unwritten && s.pending.Of(object.UID) == nil {
		return busy(object, "was about to be allocated, which failed: the scheduler tries again")
	}
	if payer, _, charged := s.Ledger.Payer(claim.Part); unwritten && charged && payer != pod.Queue {
		return busy(object, "is being allocated for a pod of another queue: this pod can share it afterwards")
	}
	if conflict := s.conflictOf(pod, object); conflict != nil {
		if s.usedAlone(pod.Object, object) {
			s.deallocate(pod.Object, object)
		}
		return report.DeviceAllocatedTwice{Conflict: conflict, Claim: nameOf(object)}
	}
	if refusal := s.refuseNotReady(pod, object); refusal != nil {
		return refusal
	}
	// Upstream's CanBeReserved is always true in v0.34.
	full := len(object.Status.ReservedFor) >= resourceapi.ResourceClaimReservedForMaxSize
	if full && !resourceclaim.IsReservedForPod(pod.Object, object) {
		return report.Unplaceable{Err: fmt.Errorf("ResourceClaim %s is used by %d pods, which is the most that can share one: use another one",
			nameOf(object), len(object.Status.ReservedFor))}
	}
	return nil
}

func allocatedClaimOf(object *resourceapi.ResourceClaim) (allocatedClaim, error) {
	allocated := allocatedClaim{ResourceClaim: object}
	if selector := object.Status.Allocation.NodeSelector; selector != nil {
		var err error
		if allocated.nodes, err = nodeaffinity.NewNodeSelector(selector); err != nil {
			return allocated, fmt.Errorf("ResourceClaim %s: its allocation's nodeSelector: %w", nameOf(object), err)
		}
	}
	return allocated, nil
}

func busy(claim *resourceapi.ResourceClaim, why string) report.Refusal {
	return report.ClaimBusy{Claim: nameOf(claim), Why: why}
}

func nameOf(claim *resourceapi.ResourceClaim) string {
	return claim.Namespace + "/" + claim.Name
}
