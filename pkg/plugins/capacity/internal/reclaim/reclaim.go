// SPDX-License-Identifier: Apache-2.0

// Package reclaim decides what a queue may take back from other queues, and from which pods.
//
// The ledger and the demand of pods come in. Victims go out. The package changes nothing: each victim is
// released in a view of the ledger, so that it counts for the next choice.
package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reclaimer is a pod that asks for what its queue deserves.
type Reclaimer struct {
	// Ledger has the charges of the session.
	Ledger *ledger.Ledger
	Pod    *demand.Pod
	Queue  ledger.QueueID
	// CountsCards says that the pod asks for cards, and that the queue limits or deserves cards.
	CountsCards bool
}

// May reports whether the queue can carry the pod, since what it takes back is in other queues, and whether it
// deserves more than it has.
func (r *Reclaimer) May() (fits, may bool) {
	asked, fits := r.asked()
	return fits, fits && r.Ledger.MayReclaim(r.Queue, asked)
}

// asked returns what the pod asks for, and whether the queue can carry that, even if its ancestors cannot. Of cards
// that the pod may choose among, it takes the first that the queue can carry.
func (r *Reclaimer) asked() (ledger.Demand, bool) {
	d := r.Pod.Checked
	if !r.CountsCards || r.Pod.Cards.Assigned() {
		return d, r.Ledger.FitsAlone(r.Queue, d)
	}
	for _, choice := range r.Pod.Cards.Choices {
		best := ledger.NewPart(choice.Amounts())
		for i, alternative := range choice.Alternatives() {
			part := ledger.NewPart(alternative)
			if i == 0 || r.Ledger.FitsAlone(r.Queue, ledger.Demand{part}) && !r.Ledger.FitsAlone(r.Queue, ledger.Demand{best}) {
				best = part
			}
		}
		d = append(slices.Clip(d), best)
	}
	return d, r.Ledger.FitsAlone(r.Queue, d)
}

// CanCarry reports whether the queue can carry a part, even if its ancestors cannot.
func (r *Reclaimer) CanCarry(part *ledger.Part) bool {
	return r.Ledger.FitsAlone(r.Queue, ledger.Demand{part})
}

// Candidate is a pod that may become a victim.
type Candidate struct {
	*demand.Pod
	Holder ledger.Holder
}

// Victims returns the indexes of the candidates to evict, so that the queue gets what it deserves. Wanted is what the
// pod needs on a node. Each victim counts for the next choice.
func (r *Reclaimer) Victims(candidates []Candidate, wanted ledger.Amounts, pods ledger.Ordinal) []int {
	asked, _ := r.asked()
	bottleneck, tight := r.Ledger.Bottleneck(r.Queue, asked)
	books := r.Ledger.View()
	var victims []int
	for i, c := range candidates {
		if tight && !r.Ledger.Within(c.Queue, bottleneck) {
			continue
		}
		freed := books.Frees(c.Holder, c.Demand)
		if !helps(freed, wanted, pods) || !books.MayLose(c.Queue, freed) {
			klog.V(5).InfoS("Pod is no victim", "pod", klog.KObj(c.Object), "queue", r.Ledger.Name(c.Queue), "reclaimer", klog.KObj(r.Pod.Object))
			continue
		}
		if err := books.ReleaseHeld(c.Holder, c.Demand); err != nil {
			klog.ErrorS(err, "Failed to simulate the release of a pod", "pod", klog.KObj(c.Object))
			continue
		}
		victims = append(victims, i)
	}
	return victims
}

// helps reports whether anything that is freed is wanted. Every pod frees its place among the pods of a node. That
// alone does not help.
func helps(freed, wanted ledger.Amounts, pods ledger.Ordinal) bool {
	for _, e := range freed {
		if e.Dimension != pods && e.Amount.Sign() > 0 && wanted.Of(e.Dimension).Sign() > 0 {
			return true
		}
	}
	return false
}
