// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	// effortOfNode is granted for each search on a node, and effortOfDevice for each device there: enough for several questions of a pod
	// with a few requests, so that a pod whose search is of ordinary length waits for nobody's long ones.
	effortOfNode, effortOfDevice = 128, 2
	// portion is how much is drawn from the budget at a time.
	portion = 256
)

// effortOf is what a question about claims costs besides the steps of the search: Kubernetes' algorithm looks at every alternative of every
// request before it picks anything, and evaluates selectors once for each device.
func effortOf(claims []*resourceapi.ResourceClaim, devices int) int {
	size := sizeOf(claims)
	return 10 + size + size*size/500 + max(0, lengthOf(claims)-ordinaryLength)/lengthOfUnit*devices
}

// NodeEffort bounds the work of one search on one node. What is granted for it is its own, so that a long search on other nodes, which may
// run at the same time, takes nothing from it. What it needs in addition is drawn from the budget of the job. One goroutine uses it.
type NodeEffort struct {
	job *Effort
	// own is what can be spent without drawing more, and draws says that some of it was drawn.
	own, used int
	draws     bool
	// had is what could have been spent when more was needed, zero if it was not.
	had int
}

// Used returns how much was spent on the node.
func (n *NodeEffort) Used() int { return n.used }

// Had returns how much could have been spent on the node if the search did not end because that is too little. It is zero for a
// search that ended.
func (n *NodeEffort) Had() int { return n.had }

// UnfinishedError means that the search for devices ended before everything was tried.
type UnfinishedError struct {
	// Requests is how many requests the claims have. A request with alternatives counts as many times.
	Requests int
	// Later says that the search may get further in a later session. Otherwise, it has had as much as any search gets.
	Later bool
}

func (e *UnfinishedError) Error() string {
	if e.Later {
		return fmt.Sprintf("the search for devices is long, and goes on later: the claims have %d requests and alternatives in all", e.Requests)
	}
	return fmt.Sprintf("the claims have too many combinations of alternatives and devices to try all of them: they have %d requests and alternatives in all", e.Requests)
}

// errTooMuch says that the bound is reached.
var errTooMuch = errors.New("too much work")

// begin grants what may be spent on a node with so many devices. The caller calls end.
func (n *NodeEffort) begin(devices int) { n.own = n.job.granted(devices) }

// reserve draws what a search with slow selectors needs to begin, in place of what is granted. The error is errTooMuch if there is too little.
func (n *NodeEffort) reserve() error {
	drawn, left := n.job.draw(leastForSlow, leastForSlow)
	if drawn == 0 {
		n.had = left
		return errTooMuch
	}
	n.own, n.draws = drawn, true
	return nil
}

// spend records work. The error is errTooMuch if that is too much.
func (n *NodeEffort) spend(work int) error {
	if more := work - n.own; more > 0 {
		drawn, left := n.job.draw(more, max(more, portion))
		if drawn == 0 {
			n.had = n.used + n.own + left
			return errTooMuch
		}
		n.own, n.draws = n.own+drawn, true
	}
	n.own -= work
	n.used += work
	return nil
}

// exhaust records work that has been done whether or not there is as much left.
func (n *NodeEffort) exhaust(work int) error {
	err := n.spend(work)
	if err != nil {
		_ = n.spend(n.had - n.used)
		n.had = n.used
	}
	return err
}

// end leaves to other searches what was drawn and not needed.
func (n *NodeEffort) end() {
	if n.draws {
		n.job.giveBack(n.own)
	}
	n.own = 0
}

// unfinished is the error for a search that too little was left for.
func (n *NodeEffort) unfinished(claims []*resourceapi.ResourceClaim) error {
	n.had = max(n.had, n.used, 1)
	return &UnfinishedError{Requests: sizeOf(claims), Later: n.job.Want(n.had)}
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
