// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

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
	return victim.UID != a.job.UID && (r == Reclaim || victim.Priority < a.job.Priority)
}

// appliesTo reports whether the rule allows to evict a pod that is charged to a queue, which may be another one than that of its job.
func (r Rule) appliesTo(a *asker, charged ledger.QueueID) bool {
	if r == Preempt {
		return charged == a.queue
	}
	queue := a.Session.Queues[api.QueueID(a.Snapshot.Ledger.Name(charged))]
	return charged != a.queue && queue != nil && queue.Reclaimable()
}

// justified reports whether the asker may evict a unit, given the ledger without all victims: of something that is short, and
// of which the unit frees some, the asker has a right to as much as it asks for, and the queues of the unit keep what they
// deserve. That must hold for all cards and devices among it that anybody deserves. Otherwise, these queues would take it
// back at once, and two queues would evict each other's pods for ever. Only cpu and the like go along with devices and
// cards to which the asker has a right.
func (r Rule) justified(a *asker, books *ledger.Ledger, u *unit, short ledger.Amounts) bool {
	if r == Preempt {
		return slices.ContainsFunc(short, u.freesSome)
	}
	helps, devices := false, false
	for _, e := range short {
		if !u.freesSome(e) {
			continue
		}
		switch may := a.mayTakeBack(books, u, e); {
		case may:
			helps, devices = true, devices || !a.isResource(e)
		case a.isDeserved(books, u, e):
			return false
		}
	}
	if !helps {
		return false
	}
	for _, queue := range u.queues {
		if !books.KeepsGuarantees(queue, a.queue, u.frees) {
			return false
		}
	}
	return devices || !slices.ContainsFunc(short, func(e ledger.Entry) bool { return u.freesSome(e) && !a.keepsTargets(books, u, e.Dimension) })
}

// freesSome reports whether the unit frees something of a dimension.
func (u *unit) freesSome(e ledger.Entry) bool { return u.frees.Of(e.Dimension).Sign() > 0 }

func (a *asker) isResource(e ledger.Entry) bool {
	return a.Snapshot.Ledger.Dimension(e.Dimension).Kind == ledger.Resource
}

func (a *asker) mayTakeBack(books *ledger.Ledger, u *unit, asked ledger.Entry) bool {
	for _, queue := range u.queues {
		if !books.MayTakeBack(a.queue, queue, asked.Dimension, asked.Amount) {
			return false
		}
	}
	return a.keepsTargets(books, u, asked.Dimension)
}

// keepsTargets reports whether the queues of a unit have at least what they deserve in a dimension.
func (a *asker) keepsTargets(books *ledger.Ledger, u *unit, o ledger.Ordinal) bool {
	for _, queue := range u.queues {
		if !books.KeepsTarget(queue, a.queue, o) {
			return false
		}
	}
	return true
}

// isDeserved reports whether it is settled who deserves how many of some cards or devices.
func (a *asker) isDeserved(books *ledger.Ledger, u *unit, e ledger.Entry) bool {
	if a.isResource(e) {
		return false
	}
	for _, queue := range u.queues {
		if top, _ := books.Branches(a.queue, queue); books.Target(top, e.Dimension).Set {
			return true
		}
	}
	return false
}
