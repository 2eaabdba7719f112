// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Rule is the right by which a job takes room from other jobs.
type Rule string

const (
	// Preempt takes from jobs of lower priority in the same queue.
	Preempt Rule = "preempt"
	// Reclaim takes back, from other queues, what the queue of the job deserves.
	Reclaim Rule = "reclaim"
)

// applies reports whether the rule allows victims in a job at all, whatever the amounts.
func (r Rule) applies(a *preemptor, victim *api.JobInfo) bool {
	return victim.UID != a.job.UID && (r == Reclaim || victim.Priority < a.job.Priority)
}

// appliesTo reports whether the rule allows the eviction of a pod that is charged to a queue. This may not be the queue of its job.
func (r Rule) appliesTo(a *preemptor, charged ledger.QueueID) bool {
	if r == Preempt {
		return charged == a.queue
	}
	queue := a.Session.Queues[api.QueueID(a.Snapshot.Ledger.Name(charged))]
	return charged != a.queue && queue != nil && queue.Reclaimable()
}

// justified reports whether the preemptor may evict a unit, given the ledger without all victims.
func (r Rule) justified(a *preemptor, books *ledger.Ledger, u *unit, short ledger.Amounts) bool {
	if r == Preempt {
		return slices.ContainsFunc(short, u.freesSome)
	}
	return books.MayEvict(a.queue, u.frees, short, u.queues...) && !slices.ContainsFunc(u.frees, func(e ledger.Entry) bool {
		return e.Amount.Sign() > 0 && a.areDevices(e.Dimension) && slices.ContainsFunc(u.queues, func(v ledger.QueueID) bool { return !books.KeepsTarget(v, a.queue, e.Dimension) })
	})
}

// areDevices reports whether a resource stands for devices: the ledger takes it for one that goes along with devices.
func (a *preemptor) areDevices(o ledger.Ordinal) bool {
	d := a.Snapshot.Dimensions.Dimension(o)
	if d.Kind != ledger.Resource {
		return false
	}
	_, devices := a.Snapshot.Catalog.Extended(corev1.ResourceName(d.Name))
	return devices
}

// freesSome reports whether the unit frees some of a dimension.
func (u *unit) freesSome(e ledger.Entry) bool { return u.frees.Of(e.Dimension).Sign() > 0 }
