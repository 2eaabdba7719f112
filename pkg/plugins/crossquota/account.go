// SPDX-License-Identifier: Apache-2.0

package crossquota

import "volcano.sh/volcano/pkg/scheduler/api"

// account sums up what the pods that are subject to the quota use on one GPU node. Several goroutines
// may read it at the same time, but not while it changes.
type account struct {
	facts *nodeFacts
	// used is the sum of all charges.
	used []amount
	// releasing is the part of used that belongs to pods that are being evicted.
	releasing []amount
	charges   map[api.TaskID]charge
}

// charge is what one pod uses.
type charge struct {
	requests []amount
	holder
	releasing bool
}

// holder describes the pod of a charge as far as evictions depend on it.
type holder struct {
	// job is nil if the pod belongs to no job of the session.
	job      *api.JobInfo
	priority int32
	// bound pods are bound to their node; running pods also run.
	bound, running bool
	// fixed pods cannot be evicted.
	fixed bool
	// bestEffort pods request no resource that Volcano counts.
	bestEffort bool
}

// newAccount returns an empty account. It has room for the given number of pods and grows if needed.
func newAccount(facts *nodeFacts, pods int) *account {
	n := len(facts.quotas)
	sums := make([]amount, 2*n)
	return &account{facts: facts, used: sums[:n:n], releasing: sums[n:], charges: make(map[api.TaskID]charge, pods)}
}

// charge counts a pod. If the pod is already counted, its amounts stay as they are, and it is no longer
// releasing.
func (a *account) charge(id api.TaskID, requests []amount, by holder) {
	h, found := a.charges[id]
	switch {
	case !found:
		h = charge{requests: requests, holder: by}
		add(a.used, requests)
	case h.releasing:
		h.releasing = false
		subtract(a.releasing, h.requests)
	}
	a.charges[id] = h
}

// markReleasing records that a pod is being evicted. The pod stays counted until it is released.
func (a *account) markReleasing(id api.TaskID) {
	h, found := a.charges[id]
	if !found || h.releasing {
		return
	}
	h.releasing = true
	a.charges[id] = h
	add(a.releasing, h.requests)
}

func (a *account) release(id api.TaskID) {
	h, found := a.charges[id]
	if !found {
		return
	}
	delete(a.charges, id)
	subtract(a.used, h.requests)
	if h.releasing {
		subtract(a.releasing, h.requests)
	}
}

// exceeds reports whether a request exceeds the quota of the i-th controlled resource. A pod that does
// not request the resource never exceeds its quota, even if the quota is already exceeded.
func (a *account) exceeds(i int, requests []amount) bool {
	return requests[i] > 0 && a.used[i]+requests[i] > a.facts.quotas[i]
}

func (a *account) fits(requests []amount) bool {
	for i := range requests {
		if a.exceeds(i, requests) {
			return false
		}
	}
	return true
}

// fitsAfter reports whether a request fits the quota once all releasing pods are gone and further
// amounts are freed. Freed may be nil.
func (a *account) fitsAfter(freed, requests []amount) bool {
	for i, requested := range requests {
		future := a.used[i] - a.releasing[i] + requested
		if freed != nil {
			future -= freed[i]
		}
		if requested > 0 && future > a.facts.quotas[i] {
			return false
		}
	}
	return true
}

// neverFits reports whether a request exceeds the quota even if the node is empty.
func (a *account) neverFits(requests []amount) bool {
	for i, requested := range requests {
		if requested > 0 && requested > a.facts.quotas[i] {
			return true
		}
	}
	return false
}

// helps reports whether the eviction of a pod frees some of a resource that a request lacks once all
// releasing pods are gone.
func (a *account) helps(h *charge, requests []amount) bool {
	if h.releasing {
		return false
	}
	for i, requested := range requests {
		if requested > 0 && h.requests[i] > 0 && a.used[i]-a.releasing[i]+requested > a.facts.quotas[i] {
			return true
		}
	}
	return false
}

func add(sums, amounts []amount) {
	for i, a := range amounts {
		sums[i] += a
	}
}

func subtract(sums, amounts []amount) {
	for i, a := range amounts {
		sums[i] -= a
	}
}
