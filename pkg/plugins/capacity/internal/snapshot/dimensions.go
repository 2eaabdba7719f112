// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

const (
	// fewDimensions is the number of dimensions below which no review takes place.
	fewDimensions = 512
	// reviewInterval is the number of sessions between two reviews.
	reviewInterval = 256
)

// dimensionReview finds out when most dimensions are obsolete. Queues, nodes, and classes come and go while a scheduler
// runs, and each dimension is a cost for every queue.
type dimensionReview struct {
	// renew says that the next session begins with new dimensions.
	renew bool
	// sessions is the number of sessions since the last review.
	sessions int
}

// begin begins a session. It reports whether everything must be counted again.
func (r *dimensionReview) begin() bool {
	renew := r.renew
	r.renew = false
	r.sessions++
	return renew
}

// reviewDimensions decides whether the next session begins with new dimensions. The specs are the queues of this session.
func (s *Snapshot) reviewDimensions(specs []ledger.QueueSpec) {
	there := s.Dimensions.Len()
	if there < fewDimensions || s.review.sessions < reviewInterval {
		return
	}
	needed := s.neededDimensions(specs)
	s.review = dimensionReview{renew: there > 2*needed}
	klog.V(3).InfoS("Reviewed the dimensions that quotas count", "there", there, "needed", needed, "renew", s.review.renew)
}

// neededDimensions returns the number of dimensions that a queue lists, a node offers, or a DeviceClass names.
func (s *Snapshot) neededDimensions(specs []ledger.QueueSpec) int {
	needed := make([]bool, s.Dimensions.Len())
	mark := func(amounts ledger.Amounts) {
		for _, e := range amounts {
			needed[e.Dimension] = true
		}
	}
	for i := range specs {
		mark(specs[i].Capability)
		mark(specs[i].Deserved)
		mark(specs[i].Guarantee)
	}
	mark(s.ClusterTotal)
	named := func(kind ledger.Kind, name string) {
		if o, known := s.Dimensions.Known(ledger.Dimension{Kind: kind, Name: name}); known {
			needed[o] = true
		}
	}
	for _, card := range s.Fleet.Names() {
		named(ledger.Card, card)
	}
	for class := range s.Catalog.Classes {
		named(ledger.DeviceCount, class)
		named(ledger.Card, s.Catalog.Card(class))
	}
	n := 0
	for _, is := range needed {
		if is {
			n++
		}
	}
	return n
}
