// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// chargeOrphanedClaims charges claims whose pods are gone but whose devices are in use. They are charged to the
// queue that paid last or, if that queue is gone, to its lowest ancestor that is left.
func (s *Snapshot) chargeOrphanedClaims() {
	for remembered := range s.Counter.Claims.All {
		uid := remembered.Object.UID
		last, paid := s.payers[uid]
		if !paid || s.ChargedOrReleasing(remembered) {
			continue
		}
		object, inUse := s.Input.Claims.InUse(remembered.Object)
		if !inUse {
			continue
		}
		claim := s.Counter.Claims.Of(object)
		for _, name := range last.path {
			queue, found := s.Ledger.Queue(name)
			if !found {
				continue
			}
			if err := s.Ledger.Charge(queue, ledger.Holder(uid), ledger.Demand{claim.Part}); err != nil {
				klog.ErrorS(err, "Failed to charge a claim", "claim", klog.KObj(object))
			}
			break
		}
	}
}

// RememberPayers keeps, for the next session, who pays for which claim.
func (s *Snapshot) RememberPayers() {
	clear(s.payers)
	paths := map[ledger.QueueID][]string{}
	books := s.Held()
	for claim := range s.Counter.Claims.All {
		queue, holder, charged := books.Payer(claim.Part)
		if !charged {
			continue
		}
		if paths[queue] == nil {
			paths[queue] = s.Ledger.Path(queue)
		}
		s.payers[claim.Object.UID] = payer{holder: holder, path: paths[queue]}
	}
}
