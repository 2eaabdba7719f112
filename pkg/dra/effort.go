// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	// effortOfNode is granted for each search on a node, and effortOfDevice for each device there. They cover several questions of a pod
	// with a few requests. A pod with a search of ordinary length therefore never waits for long searches of other pods.
	effortOfNode, effortOfDevice = 256, 8
	// effortOfEvaluation is the cost to evaluate a selector of ordinary length for a device.
	effortOfEvaluation = 3
	// portion is the amount drawn from the budget at a time.
	portion = 256
)

// effortOf returns the cost of a question about claims, without the steps of the search. Kubernetes' algorithm looks at every alternative
// of every request before it picks anything. It sorts all devices into pools, and evaluates selectors once per device.
func effortOf(claims []*resourceapi.ResourceClaim, devices int) int {
	size := sizeOf(claims)
	return 20 + size + size*size/500 + devices/4 + max(0, lengthOf(claims)-ordinaryLength)/lengthOfUnit*devices
}

// NodeEffort bounds the work of one search on one node. It has its own grant, so concurrent long searches on other nodes take nothing from
// it. It draws further work from the budget of the job. Only one goroutine may use it.
type NodeEffort struct {
	job *Effort
	// own is the amount that can be spent without another draw. draws says that some of it was drawn.
	own, used int
	draws     bool
	// had is the amount that could be spent when more was needed, or zero if it was enough.
	had int
}

// Used returns the amount spent on the node.
func (n *NodeEffort) Used() int { return n.used }

// Had returns the amount that could be spent on the node, if it was too little for the search to end. It is zero for a search that ended.
func (n *NodeEffort) Had() int { return n.had }

// UnfinishedError says that a search for devices stopped before it tried everything.
type UnfinishedError struct {
	// Requests is the number of requests in the claims. A request with alternatives counts once per alternative.
	Requests int
	// Later says that the search may get further in a later session. Otherwise, it had as much as any search gets.
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

// begin grants the free amount for a node with this many devices. The caller must call end.
func (n *NodeEffort) begin(devices int) { n.own = n.job.granted(devices) }

// reserve draws the amount that a search with slow selectors needs to begin, instead of the free amount. The error is errTooMuch if too little
// is left.
func (n *NodeEffort) reserve() error {
	drawn, left := n.job.draw(leastForSlow, leastForSlow)
	if drawn == 0 {
		n.had = left
		return errTooMuch
	}
	n.own, n.draws = drawn, true
	return nil
}

// spend records work. The error is errTooMuch if too little is left.
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

// exhaust records work that is already done, even if too little is left.
func (n *NodeEffort) exhaust(work int) error {
	err := n.spend(work)
	if err != nil {
		_ = n.spend(n.had - n.used)
		n.had = n.used
	}
	return err
}

// end returns drawn and unused work to other searches.
func (n *NodeEffort) end() {
	if n.draws {
		n.job.giveBack(n.own)
	}
	n.own = 0
}

func (n *NodeEffort) unfinished(claims []*resourceapi.ResourceClaim) error {
	n.had = max(n.had, n.used, 1)
	return &UnfinishedError{Requests: sizeOf(claims), Later: n.job.Want(n.had)}
}

// sizeOf returns the number of requests. Each alternative counts as a request, and so does a claim without requests.
func sizeOf(claims []*resourceapi.ResourceClaim) int {
	size := 0
	for _, claim := range claims {
		if len(claim.Spec.Devices.Requests) == 0 {
			size++
		}
		for i := range claim.Spec.Devices.Requests {
			size += max(1, len(claim.Spec.Devices.Requests[i].FirstAvailable))
		}
	}
	return size
}
