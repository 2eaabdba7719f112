// SPDX-License-Identifier: Apache-2.0

package find

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// findReclaimFault finds a queue that the scheduler's configuration keeps from getting what it deserves. A guarantee is kept free for the
// queue and needs no reclaim.
func (f *Finder) findReclaimFault(found *Found, queue ledger.QueueID) {
	name := f.Ledger.Name(queue)
	if name == quota.Root {
		return
	}
	var concerned []problems.Deserved
	for o := range ledger.Ordinal(f.Dimensions.Len()) {
		deserved, guarantee := f.Ledger.Deserved(queue, o), f.Ledger.Guarantee(queue, o)
		if !deserved.Set || deserved.Amount.Sign() <= 0 || guarantee.Set && deserved.Amount.Cmp(guarantee.Amount) <= 0 {
			continue
		}
		d := f.Dimensions.Dimension(o)
		if d.Kind == ledger.Resource && !f.Ledger.Leaf(queue) {
			continue // upstream's action considers only the queues of the jobs
		}
		found.Deserving = true
		if f.ReclaimFault.Concerns(d.Kind) {
			concerned = append(concerned, problems.Deserved{Dimension: d, Amount: deserved.Amount})
		}
	}
	if len(concerned) > 0 {
		found.Wronged = true
		found.Problems.ReclaimFault(name, concerned, f.ReclaimFault)
	}
}
