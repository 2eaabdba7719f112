package crossquota

import "volcano.sh/volcano/pkg/scheduler/api"

// account is what the pods that the quota is about hold on one GPU node. It may be read by many
// at a time, but not while it changes.
type account struct {
	facts *nodeFacts
	// used is what all holders hold together.
	used []amount
	// leaving is the part of it that is held by pods that are being evicted.
	leaving []amount
	// fixed is the part of it that preemption cannot get back.
	fixed   []amount
	holders map[api.TaskID]holding
}

// holding is what one pod holds.
type holding struct {
	requests       []amount
	leaving, fixed bool
}

// newAccount makes an account for about so many pods.
func newAccount(facts *nodeFacts, pods int) *account {
	n := len(facts.quotas)
	sums := make([]amount, 3*n)
	return &account{facts: facts, used: sums[:n:n], leaving: sums[n : 2*n : 2*n], fixed: sums[2*n:], holders: make(map[api.TaskID]holding, pods)}
}

// hold counts a pod, once; a pod that was about to leave stays. Its amounts are those of the
// first time until it is released.
func (a *account) hold(id api.TaskID, requests []amount, fixed bool) {
	h, found := a.holders[id]
	switch {
	case !found:
		h = holding{requests: requests, fixed: fixed}
		add(a.used, requests)
		if fixed {
			add(a.fixed, requests)
		}
	case h.leaving:
		h.leaving = false
		subtract(a.leaving, h.requests)
	}
	a.holders[id] = h
}

// leave notes that a pod is being evicted. It holds what it holds until it is gone.
func (a *account) leave(id api.TaskID) {
	h, found := a.holders[id]
	if !found || h.leaving {
		return
	}
	h.leaving = true
	a.holders[id] = h
	add(a.leaving, h.requests)
}

// release forgets a pod.
func (a *account) release(id api.TaskID) {
	h, found := a.holders[id]
	if !found {
		return
	}
	delete(a.holders, id)
	subtract(a.used, h.requests)
	if h.leaving {
		subtract(a.leaving, h.requests)
	}
	if h.fixed {
		subtract(a.fixed, h.requests)
	}
}

// exceeds reports whether a request is too much of the i-th controlled resource. A pod that
// requests nothing of it does no harm, even where it is over already.
func (a *account) exceeds(i int, requests []amount) bool {
	return requests[i] > 0 && a.used[i]+requests[i] > a.facts.quotas[i]
}

// fits reports whether there is room for a request.
func (a *account) fits(requests []amount) bool {
	for i := range requests {
		if a.exceeds(i, requests) {
			return false
		}
	}
	return true
}

// fitsWithout reports whether there is room for a request once all that leave have left, and
// further amounts are freed; freed may be nil.
func (a *account) fitsWithout(freed, requests []amount) bool {
	for i, requested := range requests {
		future := a.used[i] - a.leaving[i] + requested
		if freed != nil {
			future -= freed[i]
		}
		if requested > 0 && future > a.facts.quotas[i] {
			return false
		}
	}
	return true
}

// hopeless reports whether a request would not fit even if all that can be evicted were gone.
func (a *account) hopeless(requests []amount) bool {
	for i, requested := range requests {
		if requested > 0 && a.fixed[i]+requested > a.facts.quotas[i] {
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
