// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// admitsWithReclaim reports whether a job that needs devices or limited cards is admitted although there is no room for it. It may
// take what its queue deserves from other queues, or room from jobs of lower priority in its queue. Without admission, it would never
// reach the actions that evict for it. Upstream lets such jobs wait.
func (s *Session) admitsWithReclaim(ask JobAsk) bool {
	if !ask.Needs.Any && !ask.Needs.Cards {
		return false
	}
	from, takes := s.Takings(ask)
	if !takes {
		return false
	}
	_, may := s.Right(ask, from)
	return may
}

// Takings returns what the configured actions could take from other jobs. takes is false if that is nothing.
func (s *Session) Takings(ask JobAsk) (from ledger.Takings, takes bool) {
	from.Back = conf.EnabledActionMap[string(eviction.Reclaim)]
	if conf.EnabledActionMap[string(eviction.Preempt)] {
		from.Spare = s.heldBelow(ask)
	}
	return from, from.Back || from.Spare != nil
}

// Right reports whether a job may take the room that it needs, with some combination of its alternatives. If not, first says why the first
// combination may not. It is nil if no combination can be counted.
func (s *Session) Right(ask JobAsk, from ledger.Takings) (first *ledger.NoRight, may bool) {
	may = ask.Needs.AnyCombination(func(minimum ledger.Amounts) bool {
		no := s.Snapshot.Ledger.WhyNoRight(ask.Queue, minimum, from)
		first = cmp.Or(first, no)
		return no == nil
	})
	return first, may
}

// heldBelow sums up what jobs of lower priority hold in the queue.
func (s *Session) heldBelow(ask JobAsk) ledger.Amounts {
	if s.held == nil {
		s.held = map[ledger.QueueID]map[int32]ledger.Amounts{}
	}
	if s.held[ask.Queue] == nil {
		s.held[ask.Queue] = s.heldByPriority(ask.Queue)
	}
	var sum ledger.Amounts
	for priority, held := range s.held[ask.Queue] {
		if priority >= ask.Job.Priority {
			continue
		}
		if total, err := sum.PlusAll(held); err == nil {
			sum = total
		}
	}
	return sum
}

func (s *Session) heldByPriority(queue ledger.QueueID) map[int32]ledger.Amounts {
	sums := map[int32]ledger.Amounts{}
	for _, job := range s.Jobs {
		if !eviction.MayLose(job, s.WholeGangs) {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if !api.PreemptableStatus(status) {
				continue
			}
			for _, task := range tasks {
				pod := s.Snapshot.Known(task.Pod)
				if pod == nil || !task.Preemptable || !pod.InLedger || pod.Queue != queue {
					continue
				}
				if total, err := sums[job.Priority].PlusAll(s.Snapshot.Ledger.Frees(snapshot.HolderOf(task), pod.Demand)); err == nil {
					sums[job.Priority] = total
				}
			}
		}
	}
	return sums
}
