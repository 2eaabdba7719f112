// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Quota decides which devices may be picked.
type Quota struct {
	// Accepts reports whether these results, one per claim, may be allocated.
	Accepts func(results []resourceapi.AllocationResult) bool
	// Charge identifies the charge of a device that is the only one picked for a claim. Accepts treats devices with the same
	// charge as equal. A shareable device is charged for its consumption. For such a device, the result has no consumed
	// capacity, and Charge is the minimum. Charge is nil if all devices are equal.
	Charge func(claim int, only *resourceapi.AllocationResult) Charge
	// Possible reports whether Accepts may accept some choice for all slots together. It may return true by mistake, but not false.
	Possible func(slots []Slots) bool
}

// Charge identifies the charge of a device. Only the caller knows its meaning.
type Charge int

// Slots is the number of devices that one request needs, with the devices to choose from.
type Slots struct {
	Claim, Count int
	Choices      []Choice
}

// Choice is a number of devices with the same charge.
type Choice struct {
	Charge  Charge
	Devices int
	// Shared says that each device can be picked several times.
	Shared bool
}

// Pick returns an allocation on a node for each claim. The claims must not be allocated yet. If the quota rejects a result,
// Pick first tries other devices for the same alternatives. It then tries other alternatives of firstAvailable requests, in the
// order of preference, starting with the last request.
//
// The result is nil if nothing is both available and accepted. An UnfinishedError says that the effort ended before everything
// was tried. Any other error says that the claims cannot be allocated on this node, whichever devices are free.
func (a *Allocator) Pick(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim, quota Quota, effort *NodeEffort,
) ([]resourceapi.AllocationResult, error) {
	reachable := a.catalog.slicesFor(node.Name)
	effort.begin(countDevices(reachable))
	defer effort.end()
	cost := a.catalog.selectors.costOf(claims)
	if cost.slow && effort.reserve() != nil {
		return nil, effort.unfinished(claims)
	}
	a.catalog.selectors.compile(&cost, claims)
	if a.catalog.selectors.pay(&cost, effort) != nil {
		return nil, effort.unfinished(claims)
	}
	if !cost.slow {
		if short, err := a.short(ctx, reachable, claims, effort, cost.timed); err != nil || short {
			return nil, err
		}
	}
	if sparing := a.sparing(reachable); sparing != nil {
		if results, err := sparing.pick(ctx, node, reachable, claims, quota, effort, cost.timed); err == nil && results != nil {
			return results, nil
		}
	}
	return a.pick(ctx, node, reachable, claims, quota, effort, cost.timed)
}

// pick is Pick with the devices that a node can reach.
func (a *Allocator) pick(ctx context.Context, node *corev1.Node, reachable []*resourceapi.ResourceSlice, claims []*resourceapi.ResourceClaim,
	quota Quota, effort *NodeEffort, timed bool,
) ([]resourceapi.AllocationResult, error) {
	reachable = a.withoutTainted(reachable, claims)
	solver, err := a.open(ctx, reachable)
	if err != nil {
		return nil, err
	}
	p := picking{ctx: ctx, allocator: a, slices: reachable, solver: solver, node: node, quota: quota, effort: effort, timed: timed, devices: countDevices(reachable)}
	results, err := p.from(claims)
	if errors.Is(err, errTooMuch) {
		return nil, effort.unfinished(claims)
	}
	return results, err
}

func countDevices(slices []*resourceapi.ResourceSlice) int {
	n := 0
	for _, slice := range slices {
		n += len(slice.Spec.Devices)
	}
	return n
}

// picking is one search, on one node.
type picking struct {
	ctx       context.Context
	allocator *Allocator
	slices    []*resourceapi.ResourceSlice
	solver    *solver
	node      *corev1.Node
	quota     Quota
	effort    *NodeEffort
	// timed says that the time of selectors counts.
	timed bool
	// devices is the number of devices that the node can reach.
	devices int
	// free is nil until other devices must be tried.
	free *freeDevices
}

// ask asks Kubernetes' algorithm for devices. The result is nil if there are none.
func (p *picking) ask(solver *solver, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	if err := p.effort.spend(effortOf(claims, p.devices)); err != nil {
		return nil, err
	}
	results, err := p.allocate(solver, claims)
	if errors.Is(err, errPanic) && !slices.ContainsFunc(claims, asksForAll) {
		if solver, err = solver.filled(p.ctx); err != nil {
			return nil, err
		}
		results, err = p.allocate(solver, claims)
	}
	switch {
	case err != nil:
		return nil, err
	case len(results) != len(claims):
		return p.askOfEachValue(solver, claims)
	}
	return results, nil
}

// allocate turns a panic of the algorithm into an error for these claims.
func (p *picking) allocate(solver structured.Allocator, claims []*resourceapi.ResourceClaim) (results []resourceapi.AllocationResult, err error) {
	counted, done := newSteps(p.ctx, p.effort, claims, p.devices, p.timed)
	defer func() {
		switch failure := recover(); {
		case failure == errTooMuch:
			counted.end()
			results, err = nil, errTooMuch
		case failure != nil:
			results, err = nil, fmt.Errorf("%w on node %s: %v", errPanic, p.node.Name, failure)
		}
		done()
	}()
	results, err = solver.Allocate(counted, p.node, claims)
	if counted.end() {
		return nil, errTooMuch
	}
	return results, err
}

// from picks devices for claims. If the result is not accepted, it first tries other devices for the chosen alternatives. It
// then partitions the other combinations of alternatives. The first part lacks the alternative chosen for the last request. The
// next part contains this alternative, but lacks the alternative chosen for the request before, and so on.
func (p *picking) from(claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	results, err := p.ask(p.solver, claims)
	if err != nil || results == nil {
		return nil, err
	}
	if p.quota.Accepts(results) {
		return results, nil
	}
	if found, err := p.otherDevices(chosen(claims, results), results); err != nil || found != nil {
		return found, err
	}
	for c := len(claims) - 1; c >= 0; c-- {
		requests := claims[c].Spec.Devices.Requests
		for r := len(requests) - 1; r >= 0; r-- {
			chosen := chosenOf(&requests[r], &results[c])
			if chosen < 0 {
				continue
			}
			if len(requests[r].FirstAvailable) > 1 {
				others := slices.Delete(slices.Clone(requests[r].FirstAvailable), chosen, chosen+1)
				if found, err := p.from(with(claims, c, r, others)); err != nil || found != nil {
					return found, err
				}
			}
			claims = with(claims, c, r, requests[r].FirstAvailable[chosen:chosen+1])
			requests = claims[c].Spec.Devices.Requests
		}
	}
	return nil, nil
}

// chosen returns a copy of the claims in which each request has only its picked alternative.
func chosen(claims []*resourceapi.ResourceClaim, results []resourceapi.AllocationResult) []*resourceapi.ResourceClaim {
	fixed := make([]*resourceapi.ResourceClaim, len(claims))
	for c, claim := range claims {
		changed := *claim
		changed.Spec.Devices.Requests = slices.Clone(claim.Spec.Devices.Requests)
		for r := range changed.Spec.Devices.Requests {
			request := &changed.Spec.Devices.Requests[r]
			if i := chosenOf(request, &results[c]); i >= 0 {
				request.FirstAvailable = slices.Clone(request.FirstAvailable[i : i+1])
			}
		}
		fixed[c] = &changed
	}
	return fixed
}

// chosenOf returns the index of the alternative picked for a request, or -1 if the request has no alternatives.
func chosenOf(request *resourceapi.DeviceRequest, result *resourceapi.AllocationResult) int {
	for i := range result.Devices.Results {
		main, sub, _ := strings.Cut(result.Devices.Results[i].Request, "/")
		if main == request.Name {
			return slices.IndexFunc(request.FirstAvailable, func(s resourceapi.DeviceSubRequest) bool { return s.Name == sub })
		}
	}
	return -1
}

// with returns a copy of the claims with other alternatives in one request. The copy shares all other parts.
func with(claims []*resourceapi.ResourceClaim, claim, request int, alternatives []resourceapi.DeviceSubRequest) []*resourceapi.ResourceClaim {
	changed := *claims[claim]
	changed.Spec.Devices.Requests = slices.Clone(changed.Spec.Devices.Requests)
	changed.Spec.Devices.Requests[request].FirstAvailable = alternatives
	claims = slices.Clone(claims)
	claims[claim] = &changed
	return claims
}
