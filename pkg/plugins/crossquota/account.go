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
	holders map[api.TaskID]holding
}

// holding is what one pod holds.
type holding struct {
	requests []amount
	holder
	leaving bool
}

// holder is what decides who may evict a pod.
type holder struct {
	// job is nil for pods that no job of the session has.
	job      *api.JobInfo
	priority int32
	// bound says that the pod has its node for good; running that it runs there, too.
	bound, running bool
	// fixed pods cannot be evicted by anybody.
	fixed bool
	// bestEffort pods request nothing that Volcano counts.
	bestEffort bool
}

// newAccount makes an account for about so many pods.
func newAccount(facts *nodeFacts, pods int) *account {
	n := len(facts.quotas)
	sums := make([]amount, 2*n)
	return &account{facts: facts, used: sums[:n:n], leaving: sums[n:], holders: make(map[api.TaskID]holding, pods)}
}

// hold counts a pod, once; a pod that was about to leave stays. Its amounts are those of the
// first time until it is released.
func (a *account) hold(id api.TaskID, requests []amount, by holder) {
	h, found := a.holders[id]
	switch {
	case !found:
		h = holding{requests: requests, holder: by}
		add(a.used, requests)
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

// beyond reports whether a request would not fit even if the node were empty.
func (a *account) beyond(requests []amount) bool {
	for i, requested := range requests {
		if requested > 0 && requested > a.facts.quotas[i] {
			return true
		}
	}
	return false
}

// helps reports whether a pod, if it were evicted, would free something of what a request lacks
// once all that leave have left.
func (a *account) helps(h *holding, requests []amount) bool {
	if h.leaving {
		return false
	}
	for i, requested := range requests {
		if requested > 0 && h.requests[i] > 0 && a.used[i]-a.leaving[i]+requested > a.facts.quotas[i] {
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
