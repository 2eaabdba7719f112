// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// checkHolders fails if the payments of all holders differ from the charges of the queues, including what releasing pods still hold.
func (c *fuzzCluster) checkHolders(when string) {
	s := opened.snapshot
	sums := map[ledger.QueueID]ledger.Amounts{}
	s.EachHolding(opened.placements.Promised, func(h *snapshot.Holding) {
		for _, part := range h.Parts {
			for _, name := range s.Ledger.Path(part.Queue) {
				id, _ := s.Ledger.Queue(name)
				if !part.Pays {
					continue
				}
				total, err := sums[id].PlusAll(part.Amounts)
				if err != nil {
					c.fail("%v", err)
				}
				sums[id] = total
			}
		}
	})
	for _, queue := range c.queues {
		id, found := s.Ledger.Queue(queue.Name)
		if !found {
			continue
		}
		for o := range ledger.Ordinal(s.Dimensions.Len()) {
			if told, charged := sums[id].Of(o), s.Held().Used(id, o); told != charged {
				c.fail("%s, holders in queue %s are said to have %v of %s, the queue is charged %v", when, queue.Name, told, s.Dimensions.Dimension(o), charged)
			}
		}
	}
}
