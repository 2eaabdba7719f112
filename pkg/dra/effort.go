// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
)

// The search for devices is bounded by number, so that the same question has the same answer on every machine. One unit is
// a few microseconds.
const (
	// effortOfPod is granted once: enough for one question of the largest pod that was seen to stall the scheduler, with four
	// claims of 31 requests with 8 alternatives each, or for all combinations of two requests with 8 alternatives each.
	effortOfPod = 3000
	// effortOfNode is granted for each node: enough for several questions of a pod with a few requests.
	effortOfNode = 128
)

// effortOf is what a question about claims costs: Kubernetes' algorithm looks at every alternative of every request before it
// picks anything, and then for each request at the devices that it has picked for others.
func effortOf(claims []*resourceapi.ResourceClaim) int {
	size := sizeOf(claims)
	return 10 + size + size*size/500
}

// Effort bounds the work that is spent on one pod in one session, on all nodes together. The zero value is ready for
// use. Several goroutines may use it.
type Effort struct {
	mu sync.Mutex
	// spent is what nodes needed in addition to what they were granted, returned what they were granted and did not need.
	spent, returned int
	ended           bool
}

// NodeEffort bounds the work on one node, each time that Pick is called with it. What the node is granted is its own, so
// that a long search on other nodes, which may run at the same time, takes nothing from it. One goroutine uses it.
type NodeEffort struct {
	pod       *Effort
	own, used int
	// had is what could have been spent when more was needed, zero if it was not.
	had int
}

// Node returns the effort for a node.
func (e *Effort) Node() *NodeEffort { return &NodeEffort{pod: e} }

// Used returns how much was spent on the node.
func (n *NodeEffort) Used() int { return n.used }

// Had returns how much could have been spent on the node if the search did not end because that is too little. It is zero for a
// search that ended.
func (n *NodeEffort) Had() int { return n.had }

// Available returns how much can be spent on one more node now.
func (e *Effort) Available() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return 0
	}
	return effortOfNode + e.left()
}

// left is what can be spent in addition to what nodes are granted.
func (e *Effort) left() int { return effortOfPod + e.returned - e.spent }

// Skip leaves to other nodes what is granted for a node that needs no search.
func (e *Effort) Skip() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.returned += effortOfNode
}

// UnfinishedError means that the search for devices ended before everything was tried.
type UnfinishedError struct {
	// Requests is how many requests the claims have. A request with alternatives counts as many times.
	Requests int
	// Timeout says that the search ended because of its context. The same search may get further at another time. Otherwise,
	// the effort was spent, and the same search with the same effort ends at the same point.
	Timeout bool
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the claims have too many combinations of alternatives and devices to try all of them: they have %d requests and alternatives in all", e.Requests)
}

var (
	// errTooMuch says that the bound is reached.
	errTooMuch = errors.New("too much work")
	// errEnded says that the time was up on another node.
	errEnded = errors.New("the search has ended")
)

// begin grants what may be spent because one more node is looked at. The caller calls end.
func (n *NodeEffort) begin() { n.own = effortOfNode }

// spend records work. The error is errTooMuch if that is too much, and errEnded after the time is up.
func (n *NodeEffort) spend(work int) error {
	e := n.pod
	e.mu.Lock()
	defer e.mu.Unlock()
	more := max(0, work-n.own)
	switch {
	case e.ended:
		return errEnded
	case more > 0 && e.spent+more > effortOfPod+e.returned:
		n.had = n.used + n.own + e.left()
		return errTooMuch
	}
	n.own -= work - more
	n.used += work
	e.spent += more
	return nil
}

// end leaves to other nodes what was not needed.
func (n *NodeEffort) end() {
	n.pod.mu.Lock()
	defer n.pod.mu.Unlock()
	n.pod.returned, n.own = n.pod.returned+n.own, 0
}

// stop lets nothing more be spent.
func (e *Effort) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}

// sizeOf is the number of requests, and of alternatives where there are some.
func sizeOf(claims []*resourceapi.ResourceClaim) int {
	size := 0
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			size += max(1, len(claim.Spec.Devices.Requests[i].FirstAvailable))
		}
	}
	return size
}
