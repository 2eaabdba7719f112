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
	mu             sync.Mutex
	spent, granted int
	ended          bool
}

// UnfinishedError means that the search for devices ended before everything was tried.
type UnfinishedError struct {
	// Requests is how many requests the claims have. A request with alternatives counts as many times.
	Requests int
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the claims have too many combinations of alternatives and devices to try all of them: they have %d requests and alternatives in all", e.Requests)
}

// errTooMuch says that the bound is reached.
var errTooMuch = errors.New("too much work")

// beginNode grants what may be spent because one more node is looked at.
func (e *Effort) beginNode() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.granted += effortOfNode
}

// spend records work. The error is errTooMuch if that is too much.
func (e *Effort) spend(work int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended || e.spent+work > effortOfPod+e.granted {
		return errTooMuch
	}
	e.spent += work
	return nil
}

// end lets nothing more be spent.
func (e *Effort) end() {
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
