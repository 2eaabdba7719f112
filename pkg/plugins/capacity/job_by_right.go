// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// mayEnterByRight reports whether a job that needs devices or limited cards enters its queue although there is no room for it, because it
// may take room from others: from other queues what its own deserves, or from jobs of lower priority in its queue. Otherwise it
// would never get to the actions that evict for it. Upstream lets such jobs wait.
func (p *plugin) mayEnterByRight(ask jobAsk) bool {
	if !ask.needs.Any && !ask.needs.Cards {
		return false
	}
	from, takes := p.takingsOf(ask)
	if !takes {
		return false
	}
	_, may := p.rightToEnter(ask, from)
	return may
}

// takingsOf returns what the configured actions could take from others for a job. It is false if that is nothing.
func (p *plugin) takingsOf(ask jobAsk) (from ledger.Takings, takes bool) {
	from.Back = conf.EnabledActionMap[string(eviction.Reclaim)]
	if conf.EnabledActionMap[string(eviction.Preempt)] {
		from.Spare = p.heldBelow(ask)
	}
	return from, from.Back || from.Spare != nil
}

// rightToEnter reports whether a job may take the room that it needs, with some choice of its alternatives. If not, it says why not
// with the first choice.
func (p *plugin) rightToEnter(ask jobAsk, from ledger.Takings) (first *ledger.NoRight, may bool) {
	tries := maxCombinations
	may = anyCombination(ask.needs.Amounts, optionsOf(ask.needs), &tries, func(minimum ledger.Amounts) bool {
		no := p.snapshot.Ledger.WhyNoRight(ask.queue, minimum, from)
		first = cmp.Or(first, no)
		return no == nil
	})
	return first, may
}

// maxCombinations bounds how many combinations of alternatives are tried for a job.
const maxCombinations = 64

// optionsOf returns, for each choice of a job, what all pods that choose come to if they take the same alternative.
func optionsOf(needs demand.Needs) [][]ledger.Amounts {
	var all [][]ledger.Amounts
	for _, choice := range needs.Choices {
		var options []ledger.Amounts
		for _, alternative := range choice.Alternatives {
			if total, err := times(alternative, choice.Pods); err == nil {
				options = append(options, total)
			}
		}
		all = append(all, options)
	}
	for _, split := range needs.Splits {
		var options []ledger.Amounts
		for _, o := range split.Among {
			if total, err := times(ledger.Amounts{{Dimension: o, Amount: ledger.Units(split.Each)}}, split.Shares); err == nil {
				options = append(options, total)
			}
		}
		all = append(all, options)
	}
	return all
}

func times(amounts ledger.Amounts, n int64) (ledger.Amounts, error) {
	total := slices.Clone(amounts)
	for i := range total {
		var err error
		if total[i].Amount, err = total[i].Amount.Times(n); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// anyCombination reports whether amounts are accepted together with one option of each choice.
func anyCombination(amounts ledger.Amounts, choices [][]ledger.Amounts, tries *int, accepts func(ledger.Amounts) bool) bool {
	if len(choices) == 0 {
		*tries--
		return accepts(amounts)
	}
	for _, option := range choices[0] {
		total, err := amounts.PlusAll(option)
		if err == nil && *tries > 0 && anyCombination(total, choices[1:], tries, accepts) {
			return true
		}
	}
	return false
}

// heldBelow adds up what the jobs of lower priority in a queue hold.
func (p *plugin) heldBelow(ask jobAsk) ledger.Amounts {
	if p.held == nil {
		p.held = map[ledger.QueueID]map[int32]ledger.Amounts{}
	}
	if p.held[ask.queue] == nil {
		p.held[ask.queue] = p.heldByPriority(ask.queue)
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

func (p *plugin) heldByPriority(queue ledger.QueueID) map[int32]ledger.Amounts {
	sums := map[int32]ledger.Amounts{}
	for _, job := range p.session.Jobs {
		if !eviction.MayLose(job, p.arguments.ReclaimGangs) {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if !api.PreemptableStatus(status) {
				continue
			}
			for _, task := range tasks {
				pod := p.snapshot.Known(task.Pod)
				if pod == nil || !task.Preemptable || !pod.InLedger || pod.Queue != queue {
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
