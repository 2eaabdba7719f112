// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Rule says by which right a job takes from others.
type Rule string

const (
	// Preempt takes from jobs of lower priority in the same queue.
	Preempt Rule = "preempt"
	// Reclaim takes back, from other queues, what the queue of the job deserves.
	Reclaim Rule = "reclaim"
)

// applies reports whether the rule allows to look for victims in a job, whatever the amounts.
func (r Rule) applies(a *asker, victim *api.JobInfo) bool {
	switch r {
	case Preempt:
		return victim.Queue == a.job.Queue && victim.UID != a.job.UID && victim.Priority < a.job.Priority
	case Reclaim:
		queue := a.Session.Queues[victim.Queue]
		return victim.Queue != a.job.Queue && queue != nil && queue.Reclaimable()
	default:
		return false
	}
}

// justified reports whether the asker may evict a unit, given the ledger without all victims: in a dimension that is
// short, and of which the unit frees some, the asker has a right and the queues of the unit keep theirs.
func (r Rule) justified(a *asker, books *ledger.Ledger, u *unit, short ledger.Amounts) bool {
	helps := false
	for _, e := range short {
		if u.frees.Of(e.Dimension).Sign() <= 0 {
			continue
		}
		if r == Preempt || a.mayTakeBack(books, u, e) {
			helps = true
			break
		}
	}
	if !helps || r == Preempt {
		return helps
	}
	for _, queue := range u.queues {
		if !books.KeepsGuarantees(queue, a.queue, u.frees) {
			return false
		}
	}
	return true
}

func (a *asker) mayTakeBack(books *ledger.Ledger, u *unit, asked ledger.Entry) bool {
	for _, queue := range u.queues {
		if !books.MayTakeBack(a.queue, queue, asked.Dimension, asked.Amount) || !books.KeepsTarget(queue, a.queue, asked.Dimension) {
			return false
		}
	}
	return true
}
