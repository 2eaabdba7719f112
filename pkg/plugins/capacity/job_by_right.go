// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// mayEnterByRight reports whether a job that needs devices or limited cards enters its queue although there is no room for it, because it
// may take room from others: from other queues what its own deserves, or from jobs of lower priority in its queue. Otherwise it
// would never get to the actions that evict for it. Upstream lets such jobs wait.
func (p *plugin) mayEnterByRight(ask jobAsk) bool {
	if !ask.needs.Any && !ask.needs.Cards || len(ask.needs.Choices) > 0 || len(ask.needs.Splits) > 0 {
		return false
	}
	var spare ledger.Amounts
	if conf.EnabledActionMap[string(eviction.Preempt)] {
		spare = p.heldBelow(ask)
	}
	return (spare != nil || conf.EnabledActionMap[string(eviction.Reclaim)]) && p.snapshot.Ledger.MayEnterByRight(ask.queue, ask.needs.Amounts, spare)
}

// heldBelow adds up what the jobs of lower priority in a queue hold.
func (p *plugin) heldBelow(ask jobAsk) ledger.Amounts {
	if p.held == nil {
		p.held = map[ledger.QueueID]map[int32]ledger.Amounts{}
	}
	if p.held[ask.queue] == nil {
		p.held[ask.queue] = p.heldByPriority(ask.job.Queue)
	}
	var sum ledger.Amounts
	for priority, held := range p.held[ask.queue] {
		if priority >= ask.job.Priority {
			continue
		}
		if total, err := sum.PlusAll(held); err == nil {
			sum = total
		}
	}
	return sum
}

func (p *plugin) heldByPriority(queue api.QueueID) map[int32]ledger.Amounts {
	sums := map[int32]ledger.Amounts{}
	for _, job := range p.session.Jobs {
		if job.Queue != queue {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if !api.PreemptableStatus(status) {
				continue
			}
			for _, task := range tasks {
				pod := p.snapshot.Known(task.Pod)
				if pod == nil || !task.Preemptable {
					continue
				}
				if total, err := sums[job.Priority].PlusAll(p.snapshot.Ledger.Frees(snapshot.HolderOf(task), pod.Demand)); err == nil {
					sums[job.Priority] = total
				}
			}
		}
	}
	return sums
}
