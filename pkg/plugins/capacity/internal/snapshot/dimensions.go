// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

const (
	// fewDimensions is how many dimensions are not worth a look.
	fewDimensions = 512
	// reviewInterval is how many sessions there are between two looks.
	reviewInterval = 256
)

// dimensionReview finds out when most dimensions stand for what is gone: queues, nodes, and classes come and go while a
// scheduler runs, and each dimension costs every queue.
type dimensionReview struct {
	// renew says that the next session begins with new dimensions.
	renew bool
	// sessions is how many sessions there have been since the last look.
	sessions int
}

// begin begins a session. It reports whether all must be counted anew.
func (r *dimensionReview) begin() bool {
	renew := r.renew
	r.renew = false
	r.sessions++
	return renew
}

// reviewDimensions decides whether the next session begins with new dimensions. Specs are the queues of this one.
func (s *Snapshot) reviewDimensions(specs []ledger.QueueSpec) {
	there := s.Dimensions.Len()
	if there < fewDimensions || s.review.sessions < reviewInterval {
		return
	}
	needed := s.neededDimensions(specs)
	s.review = dimensionReview{renew: there > 2*needed}
	klog.V(3).InfoS("Reviewed the dimensions that quotas count", "there", there, "needed", needed, "renew", s.review.renew)
}

// neededDimensions is how many dimensions stand for something that a queue lists, a node offers, or a DeviceClass names.
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
