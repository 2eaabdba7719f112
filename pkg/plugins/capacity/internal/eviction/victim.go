// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Victim is an evicted pod, and the reason.
type Victim struct {
	*api.TaskInfo
	// For is the pod that gets its place.
	For *api.TaskInfo
	// Dimension is what the queue of the other pod takes back. It is not set if the rule is Preempt.
	Dimension ledger.Dimension
	// Gains and Loses are the compared queues: the queues of the two pods, or their highest ancestors that they do not
	// share. They have the amounts held before, and the deserved amounts.
	Gains, Loses Share
}

// Share is what a queue holds and deserves in one dimension.
type Share struct {
	Queue    ledger.QueueID
	Held     ledger.Amount
	Deserved ledger.Limit
}

// explain explains why the pods of a step are evicted. Call it before the eviction.
func (p *planning) explain(s *step) []Victim {
	var all []Victim
	for _, i := range s.set {
		u := &p.all[i]
		for j, task := range u.tasks {
			victim := Victim{TaskInfo: task, For: s.task}
			if p.rule == Reclaim {
				p.compare(&victim, u, u.pods[j].Queue, s.short)
			}
			all = append(all, victim)
		}
	}
	return all
}

// compare finds the queues to compare, in the dimension that counts.
func (p *planning) compare(victim *Victim, u *unit, queue ledger.QueueID, short ledger.Amounts) {
	books := p.Snapshot.Ledger
	gains, loses := books.Branches(p.queue, queue)
	for _, e := range short {
		if u.frees.Of(e.Dimension).Sign() <= 0 || !books.Target(gains, e.Dimension).Set {
			continue
		}
		victim.Dimension = books.Dimension(e.Dimension)
		victim.Gains = Share{gains, books.Used(gains, e.Dimension), books.Deserved(gains, e.Dimension)}
		victim.Loses = Share{loses, books.Used(loses, e.Dimension), books.Deserved(loses, e.Dimension)}
		return
	}
}
