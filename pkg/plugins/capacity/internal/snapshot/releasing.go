// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// releasing is who holds a claim or cards of a releasing pod. The ledger of the session does not have these
// charges. Otherwise, preemption would evict one pod after the other for the same devices. But nobody gets the devices
// before they are free.
type releasing struct {
	queue  ledger.QueueID
	holder ledger.Holder
}

// release moves a part that nobody is charged for in the ledger to what releasing pods still hold.
func (s *Snapshot) release(part *ledger.Part, r releasing) {
	if s.Ledger.Charged(part) {
		return
	}
	if s.releasing == nil {
		s.releasing = map[*ledger.Part]releasing{}
	}
	s.releasing[part] = r
}

// Held returns the ledger with what releasing pods still hold. Devices and cards are allocated for good within
// its limits only.
func (s *Snapshot) Held() *ledger.Ledger {
	if len(s.releasing) == 0 {
		return s.Ledger
	}
	if s.held != nil {
		return s.held
	}
	books := s.Ledger.View()
	for part, r := range s.releasing {
		if err := books.Charge(r.queue, r.holder, ledger.Demand{part}); err != nil {
			klog.ErrorS(err, "Failed to charge what a releasing pod holds", "holder", r.holder)
		}
	}
	s.held = books
	return books
}

// changed notes that the ledger has changed, so that Held must be made anew.
func (s *Snapshot) changed() { s.held = nil }

// Releasing is the number of claims and pods with cards that releasing pods still hold.
func (s *Snapshot) Releasing() int { return len(s.releasing) }

// ChargedOrReleasing reports whether a queue is charged for a claim, also if its pod is releasing.
func (s *Snapshot) ChargedOrReleasing(claim *demand.Claim) bool {
	_, isReleasing := s.releasing[claim.Part]
	return isReleasing || s.Ledger.Charged(claim.Part)
}
