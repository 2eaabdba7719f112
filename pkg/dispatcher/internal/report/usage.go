// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Usage is the usage of each queue, by name. It is read-only.
type Usage map[string]QueueUsage

// QueueUsage is the usage of a queue and the queues below it.
type QueueUsage struct {
	// Share is the charged fraction of what the queue deserves.
	Share float64
	// Dimensions has cpu, memory, and all other dimensions that are used or limited.
	Dimensions []DimensionUsage
}

// DimensionUsage is the usage of one dimension in a queue.
type DimensionUsage struct {
	Dimension ledger.Dimension
	// Allocated is the charged amount. Request adds the amounts that workloads wait for.
	Allocated, Request ledger.Amount
	// Capability, Deserved, and Guarantee are the queue's own. Nearest is the capability of the lowest queue on the path to the root
	// that has one. Limit is the maximum for the queue, given all queues above it and the guarantees of others.
	Capability, Nearest, Deserved, Guarantee, Limit ledger.Limit
}

// UsageOf returns the usage of all queues of a snapshot. The ledger must include the decisions of the cycle. It returns nil if the ledger is nil.
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

// there reports whether the dimension is in use, waited for, or limited, or is basic.
func (d *DimensionUsage) there() bool {
	return d.basic() || d.Allocated.Sign() != 0 || d.Request.Sign() != 0 || d.Capability.Set || d.Limit.Set || d.Deserved.Set || d.Guarantee.Set
}

// basic reports whether the dimension is always shown.
func (d *DimensionUsage) basic() bool {
	return d.Dimension.Kind == ledger.Resource && (d.Dimension.Name == string(corev1.ResourceCPU) || d.Dimension.Name == string(corev1.ResourceMemory))
}

// listed reports whether the queue itself has a capability or a deserved amount of the dimension.
func (d *DimensionUsage) listed() bool { return d.Capability.Set || d.Deserved.Set }
