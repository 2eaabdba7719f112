// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	// timeOfUnit is several times what a unit takes, so that the time counts only for what takes long without steps.
	timeOfUnit = 10 * time.Microsecond
	// untimed is how long a question may take before its time counts: compiling a selector takes as long, once.
	untimed = 5 * time.Millisecond
	// devicesOfUnit is how many devices a step looks at in the time of a unit.
	devicesOfUnit = 32
)

// steps is the context of a question to Kubernetes' algorithm. The algorithm asks it whether it has ended whenever it picks one more device,
// or goes on to the next request, so that these steps can be counted: the same question ends at the same step on every machine. Only selectors
// that iterate or are long can take long without a step: then, the time counts, too.
type steps struct {
	context.Context
	effort *NodeEffort
	// straight is how many steps a search takes that does not go back, as far as they are still to come. They cost nothing.
	straight int
	// price is that of each other step: the algorithm looks at all devices in each.
	price int

	// watch says what the time since the beginning costs, nothing if it does not count.
	watch stopwatch
	// evaluated is what it has cost to evaluate selectors since the last step, and selector what one costs at most.
	evaluated, selector int
	err                 error
}

// newSteps returns a context that also ends when the time is up that the rest of the effort is worth. The caller calls done.
func newSteps(ctx context.Context, effort *NodeEffort, claims []*resourceapi.ResourceClaim, devices int, timed bool) (s *steps, done func()) {
	s, done = &steps{Context: ctx, effort: effort, straight: straight(claims), price: 1 + devices/devicesOfUnit, watch: newStopwatch(effort, timed)}, func() {}
	s.selector = 1
	for _, expression := range selectorsOf(claims) {
		s.selector = max(s.selector, 1+len(expression)/lengthOfUnit)
	}
	if timed {
		s.Context, done = context.WithDeadline(ctx, s.watch.begun.Add(untimed+time.Duration(effort.own+effort.job.Available())*timeOfUnit))
	}
	return s, done
}

// straight returns how many steps a search takes that does not go back.
func straight(claims []*resourceapi.ResourceClaim) int {
	n := 1
	for _, claim := range claims {
		n++
		for i := range claim.Spec.Devices.Requests {
			request, count := &claim.Spec.Devices.Requests[i], int64(1)
			if request.Exactly != nil {
				count = request.Exactly.Count
			}
			for j := range request.FirstAvailable {
				count = max(count, 1+request.FirstAvailable[j].Count)
			}
			n += 1 + int(min(count, resourceapi.AllocationResultsMaxSize))
		}
	}
	return n
}

// Done implements context.Context. It is called once for each selector that is evaluated for a device, which takes about as long as a step for each lengthOfUnit. It
// panics with errTooMuch if the time is up: nothing else ends a search between two selectors, of which there may be thousands in one step.
func (s *steps) Done() <-chan struct{} {
	s.evaluated += s.selector
	if s.watch.timed && s.Context.Err() != nil {
		panic(errTooMuch)
	}
	return s.Context.Done()
}

// Err implements context.Context.
func (s *steps) Err() error {
	if s.err == nil {
		s.err = s.step()
	}
	return s.err
}

func (s *steps) step() error {
	if s.Context.Err() != nil {
		return s.Context.Err()
	}
	cost := s.price
	if s.straight > 0 {
		s.straight, cost = s.straight-1, 0
	}
	cost += s.evaluated
	s.evaluated = 0
	cost = max(cost, s.watch.due())
	s.watch.paid += cost
	return s.effort.spend(cost)
}

// end charges the time since the last step. It reports whether the search ended because too little was left.
func (s *steps) end() bool {
	_ = s.effort.exhaust(max(s.evaluated, s.watch.due()))
	return s.err != nil || s.Context.Err() != nil
}
