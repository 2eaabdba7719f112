// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	// timeOfUnit is several times the actual time of a unit. Time therefore counts only for work that takes long without steps.
	timeOfUnit = 10 * time.Microsecond
	// untimed is the time of a question that is free. Compiling a selector takes this long, once.
	untimed = 5 * time.Millisecond
	// devicesOfUnit is the number of devices that a step looks at in the time of a unit.
	devicesOfUnit = 32
)

// steps is the context of a question to Kubernetes' algorithm. The algorithm checks the context whenever it picks another device or goes on to
// the next request. steps counts these checks, so the same question ends at the same step on every machine. Only selectors that iterate or are
// long can take long without a step. For them, the time counts, too.
type steps struct {
	context.Context
	effort *NodeEffort
	// straight is the remaining number of steps of a search that does not go back. These steps are free.
	straight int
	// price is the cost of each other step, in which the algorithm looks at all devices.
	price int

	// watch measures the cost of the time since the beginning. It is zero if time does not count.
	watch stopwatch
	// evaluated is the cost of evaluating selectors since the last step. selector is the maximum cost of one evaluation.
	evaluated, selector int
	err                 error
}

// newSteps returns a context that also ends when the time worth the remaining effort is up. The caller must call done.
func newSteps(ctx context.Context, effort *NodeEffort, claims []*resourceapi.ResourceClaim, devices int, timed bool) (s *steps, done func()) {
	s, done = &steps{Context: ctx, effort: effort, straight: straight(claims), price: 1 + devices/devicesOfUnit, watch: newStopwatch(effort, timed)}, func() {}
	s.selector = effortOfEvaluation
	for _, expression := range selectorsOf(claims) {
		s.selector = max(s.selector, effortOfEvaluation+len(expression)/lengthOfUnit)
	}
	if timed {
		s.Context, done = context.WithDeadline(ctx, s.watch.begun.Add(untimed+time.Duration(effort.own+effort.job.Available())*timeOfUnit))
	}
	return s, done
}

// straight returns the number of steps of a search that does not go back.
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

// Done implements context.Context. The algorithm calls it once per evaluation of a selector for a device, which takes about one step per
// lengthOfUnit. Done panics with errTooMuch if the time is up. Nothing else ends a search between two selectors, and one step may have thousands of
// them.
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

// stopwatch charges for the time of work that may take long without steps.
type stopwatch struct {
	effort *NodeEffort
	// timed says that the time since begun counts.
	timed bool
	begun time.Time
	// paid is the amount charged so far.
	paid int
}

func newStopwatch(effort *NodeEffort, timed bool) stopwatch {
	w := stopwatch{effort: effort, timed: timed}
	if timed {
		w.begun = time.Now()
	}
	return w
}

// due returns the cost of the time so far that is not charged yet.
func (w *stopwatch) due() int {
	if !w.timed {
		return 0
	}
	took := time.Since(w.begun)
	if took < untimed {
		return 0
	}
	return int(took/timeOfUnit) - w.paid
}

// lap charges the due amount. The error is errTooMuch if too little is left.
func (w *stopwatch) lap() error {
	due := w.due()
	if due <= 0 {
		return nil
	}
	w.paid += due
	return w.effort.exhaust(due)
}
