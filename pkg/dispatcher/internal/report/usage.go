// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Usage is what each queue has, by its name. Nothing in it may be changed.
type Usage map[string]QueueUsage

// QueueUsage is what a queue and the queues below it have.
type QueueUsage struct {
	// Share is the fraction of what the queue deserves that is charged.
	Share float64
	// Dimensions has cpu, memory, and all other dimensions that are used or limited.
	Dimensions []DimensionUsage
}

// DimensionUsage is what a queue has of one dimension.
type DimensionUsage struct {
	Dimension ledger.Dimension
	// Allocated is what is charged. Request is that and what workloads wait for.
	Allocated, Request ledger.Amount
	// Capability, Deserved, and Guarantee are the queue's own. Nearest is the capability of the lowest queue, from this one
	// upwards, that has one. Limit is what the queue can have, given all queues above it and the guarantees of others.
	Capability, Nearest, Deserved, Guarantee, Limit ledger.Limit
}

// UsageOf reads the usage of all queues of a snapshot from a ledger, which has the decisions of the cycle, too. It is nil if
// there is no ledger.
func UsageOf(books *ledger.Ledger, snapshot *framework.Snapshot, decisions []Decision) Usage {
	if books == nil {
		return nil
	}
	usage := make(Usage, len(snapshot.Queues))
	waiting := waitingIn(books, snapshot, decisions)
	for name := range snapshot.Queues {
		q, found := books.Queue(name)
		if !found {
			continue // it has no place in the tree
		}
		queue := QueueUsage{Share: books.Share(q)}
		for o := range ledger.Ordinal(snapshot.Dimensions.Len()) {
			if d := dimensionUsage(books, q, o, waiting[name].Of(o)); d.there() {
				queue.Dimensions = append(queue.Dimensions, d)
			}
		}
		usage[name] = queue
	}
	return usage
}

func dimensionUsage(books *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal, waiting ledger.Amount) DimensionUsage {
	d := DimensionUsage{
		Dimension: books.Dimension(o), Allocated: books.Balance(q, ledger.Allocated, o),
		Capability: books.Capability(q, o), Deserved: books.Deserved(q, o), Guarantee: books.Guarantee(q, o), Limit: books.Limit(q, o),
	}
	d.Request = d.Allocated
	if request, err := d.Allocated.Add(waiting); err == nil {
		d.Request = request
	}
	if _, nearest, limited := books.Nearest(q, o); limited {
		d.Nearest = ledger.AtMost(nearest)
	}
	return d
}

// there reports whether there is anything to say of a dimension.
func (d *DimensionUsage) there() bool {
	return d.basic() || d.Allocated.Sign() != 0 || d.Request.Sign() != 0 || d.Capability.Set || d.Limit.Set || d.Deserved.Set || d.Guarantee.Set
}

// basic reports whether the dimension is shown even if there is none of it.
func (d *DimensionUsage) basic() bool {
	return d.Dimension.Kind == ledger.Resource && (d.Dimension.Name == string(corev1.ResourceCPU) || d.Dimension.Name == string(corev1.ResourceMemory))
}

// listed reports whether the queue limits the dimension itself, or is owed some of it.
func (d *DimensionUsage) listed() bool { return d.Capability.Set || d.Deserved.Set }
