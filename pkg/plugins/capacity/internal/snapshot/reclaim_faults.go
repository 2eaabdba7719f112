// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// findReclaimFault finds a queue that deserves something, and that the scheduler's configuration keeps from getting it. What a queue is guaranteed is kept free for it, so that it needs no reclaim.
func (s *Snapshot) findReclaimFault(queue ledger.QueueID) {
	name := s.Ledger.Name(queue)
	if name == RootQueue {
		return
	}
	var concerned []report.Deserved
	for o := range ledger.Ordinal(s.Dimensions.Len()) {
		deserved, guarantee := s.Ledger.Deserved(queue, o), s.Ledger.Guarantee(queue, o)
		if !deserved.Set || deserved.Amount.Sign() <= 0 || guarantee.Set && deserved.Amount.Cmp(guarantee.Amount) <= 0 {
			continue
		}
		d := s.Dimensions.Dimension(o)
		if d.Kind == ledger.Resource && !s.Ledger.Leaf(queue) {
			continue // upstream's action asks only what the queues of the jobs deserve
		}
		s.mistakes.deserving = true
		if s.ReclaimFault.Concerns(d.Kind) {
			concerned = append(concerned, report.Deserved{Dimension: d, Amount: deserved.Amount})
		}
	}
	if len(concerned) > 0 {
		s.mistakes.wronged = true
		s.mistakes.found.ReclaimFault(name, concerned, s.ReclaimFault)
	}
}

// Deserving reports whether some queue deserves something, and whether the scheduler's configuration keeps some queue from getting
// that.
func (s *Snapshot) Deserving() (some, wronged bool) { return s.mistakes.deserving, s.mistakes.wronged }
