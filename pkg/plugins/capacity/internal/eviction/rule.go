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

// justified reports whether the asker may evict a unit, given the ledger without all victims: of something that is short, and
// of which the unit frees some, the asker has a right to as much as it asks for, and the queues of the unit keep what
// they deserve. That must hold for all cards and devices among it that anybody deserves.
func (r Rule) justified(a *asker, books *ledger.Ledger, u *unit, short ledger.Amounts) bool {
	helps := false
	for _, e := range short {
		if u.frees.Of(e.Dimension).Sign() <= 0 {
			continue
		}
		may := r == Preempt || a.mayTakeBack(books, u, e)
		if !may && a.isDeserved(books, u, e.Dimension) {
			return false
		}
		helps = helps || may
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

// isDeserved reports whether it is settled who deserves how many of some cards or devices.
func (a *asker) isDeserved(books *ledger.Ledger, u *unit, o ledger.Ordinal) bool {
	if books.Dimension(o).Kind == ledger.Resource {
		return false
	}
	for _, queue := range u.queues {
		if top, _ := books.Branches(a.queue, queue); books.Target(top, o).Set {
			return true
		}
	}
	return false
}
