// SPDX-License-Identifier: Apache-2.0

// Package reclaim decides, for upstream's action reclaim, what a queue may take back from other queues, and from which pods.
// Package eviction decides this for jobs that ask for devices or counted cards.
//
// Its input is the ledger and the demand of pods. Its output is a list of victims. The package changes nothing. Each victim
// is released in a view of the ledger, so it counts for the next choice.
package reclaim

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reclaimer is a pod that asks for what its queue deserves. It asks for neither devices nor counted cards.
type Reclaimer struct {
	// Ledger has the charges of the session.
	Ledger *ledger.Ledger
	Pod    *demand.Pod
	Queue  ledger.QueueID
}

// May reports whether the queue can hold the pod, given that the pod takes its room from other queues. It also reports
// whether the queue deserves more than it has.
func (r *Reclaimer) May() (fits, may bool) {
	fits = r.Ledger.FitsAlone(r.Queue, r.Pod.Checked)
	return fits, fits && r.Ledger.MayReclaim(r.Queue, r.Pod.Checked)
}

// Candidate is a pod that may become a victim.
type Candidate struct {
	*demand.Pod
	Holder ledger.Holder
}

// Victims returns the indexes of the candidates to evict to give the queue what it deserves. wanted is what the pod
// needs on a node. Each victim counts for the next choice.
func (r *Reclaimer) Victims(candidates []Candidate, wanted ledger.Amounts, pods ledger.Ordinal) []int {
	bottleneck, tight := r.Ledger.Bottleneck(r.Queue, r.Pod.Checked)
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

// helps reports whether anything freed is wanted. Every pod frees its place in the pod count of a node, which alone does not help.
func helps(freed, wanted ledger.Amounts, pods ledger.Ordinal) bool {
	for _, e := range freed {
		if e.Dimension != pods && e.Amount.Sign() > 0 && wanted.Of(e.Dimension).Sign() > 0 {
			return true
		}
	}
	return false
}
