// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// chargeOrphanedClaims charges claims whose devices are in use although no pod of the session holds them. Their pods
// are gone, another scheduler placed their pods, or their allocation is not written yet.
func (s *Snapshot) chargeOrphanedClaims() {
	allocated, err := s.Input.Claims.Allocated()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	for remembered := range s.Counter.Claims.All {
		if _, paid := s.payers[remembered.Object.UID]; !paid || s.ChargedOrReleasing(remembered) {
			continue
		}
		if object, inUse := s.Input.Claims.InUse(remembered.Object); inUse {
			allocated = append(allocated, object)
		}
	}
	made := s.chargedBeforeMade()
	for _, object := range allocated {
		if dra.IsExtended(object) && slices.ContainsFunc(object.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool { return made[user.UID] }) {
			continue
		}
		claim := s.Counter.Claims.Of(object)
		if s.ChargedOrReleasing(claim) || claim.Part.Is(nil) {
			continue
		}
		queue, attributed := s.queueOfClaim(object)
		if err := s.chargeOrphan(queue, object, claim.Part); err != nil {
			klog.ErrorS(err, "Failed to charge a claim", "claim", klog.KObj(object))
		}
		if !attributed {
			s.unknownPayer[claim] = true
		}
	}
}

// chargedBeforeMade returns the pods that are charged for an in-memory extended claim. The API server may have got the claim since,
// with a different UID, while this session was opened.
func (s *Snapshot) chargedBeforeMade() map[types.UID]bool {
	pods := map[types.UID]bool{}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if dra.InMemory(claim.Object) && s.ChargedOrReleasing(claim) {
				pods[c.task.Pod.UID] = true
			}
		}
	}
	return pods
}

// chargeOrphan charges a claim that no pod of the session holds. If its devices are free soon, it counts as held by releasing
// pods: no pod gets the devices, but no pod is evicted for other devices either.
func (s *Snapshot) chargeOrphan(queue ledger.QueueID, object *resourceapi.ResourceClaim, part *ledger.Part) error {
	if s.Leaving(object) {
		return s.Ledger.Retain(queue, ledger.Holder(object.UID), part)
	}
	return s.Ledger.Charge(queue, ledger.Holder(object.UID), ledger.Demand{part})
}

// Attributed reports whether the queue that pays for a claim is known.
func (s *Snapshot) Attributed(uid types.UID) bool {
	claim := s.Counter.Claims.Known(uid)
	if claim == nil {
		return false
	}
	_, attributed := s.payer(claim)
	return attributed
}

// payer returns the queue that pays for a claim, and whether it is known that it has to. It is not if root pays in the place of an
// unknown queue, also for a pod that has joined the claim since.
func (s *Snapshot) payer(claim *demand.Claim) (queue ledger.QueueID, attributed bool) {
	queue, _, charged := s.Held().Payer(claim.Part)
	return queue, charged && !s.unknownPayer[claim]
}

// RememberPayers keeps the payer of each claim for the next session. If an ancestor pays in place of a missing queue, the missing queue is
// kept, too: it pays again when it is back.
func (s *Snapshot) RememberPayers() {
	paths := map[ledger.QueueID][]string{}
	known := 0
	for claim := range s.Counter.Claims.All {
		queue, attributed := s.payer(claim)
		if !attributed {
			delete(s.payers, claim.Object.UID)
			continue
		}
		known++
		if last := s.payers[claim.Object.UID]; last == nil || last[0] != s.Ledger.Name(queue) {
			if before, path := s.payingPath(claim.Object); path != nil && before == queue && path[0] != s.Ledger.Name(queue) {
				s.payers[claim.Object.UID] = path
				continue
			}
		}
		if paths[queue] == nil {
			paths[queue] = s.Ledger.Path(queue)
		}
		s.payers[claim.Object.UID] = paths[queue]
	}
	if len(s.payers) > known {
		maps.DeleteFunc(s.payers, func(claim types.UID, _ []string) bool { return s.Counter.Claims.Known(claim) == nil })
	}
}
