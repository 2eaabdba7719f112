// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Filter picks devices on a node. It returns nil if the node is suitable. Otherwise, the node cannot use devices that
// are already allocated, lacks devices, or has only devices that the quota does not allow.
func (s *Session) Filter(state *State, node *corev1.Node) *report.NodeRefusal {
	for i := range state.allocated {
		if err := state.allocated[i].check(node); err != nil {
			state.setUnavailable(state.allocated[i].UID)
			return &report.NodeRefusal{Message: err.Error(), Unresolvable: true}
		}
	}
	if len(state.unallocated) == 0 {
		return nil
	}
	picked, err := s.find(state, node)
	switch {
	case err != nil:
		failure := state.failure(err)
		state.refuse(failure)
		return &report.NodeRefusal{Message: failure.Message()}
	case picked == nil:
		inVain := s.InVain(state, node)
		state.setLacking(node.Name)
		return &report.NodeRefusal{Message: "cannot allocate the devices of the pod's ResourceClaims", Unresolvable: inVain}
	}
	state.keep(node.Name, picked)
	return nil
}

// check returns why a node cannot use the devices of the claim, nil if it can.
func (c *allocatedClaim) check(node *corev1.Node) error {
	if c.nodes != nil && !c.nodes.Match(node) {
		return elsewhere(c.ResourceClaim)
	}
	return nil
}

func elsewhere(claim *resourceapi.ResourceClaim) error {
	return fmt.Errorf("ResourceClaim %s has devices elsewhere", nameOf(claim))
}

// refuse explains a refusal of the ledger, even for a class that the pod does not ask for.
func (s *Session) refuse(pod *demand.Pod, refusal *ledger.Refusal) report.Refusal {
	explained := s.Refuse(pod.Queue, refusal)
	exceeded, is := explained.(report.QuotaExceeded)
	class := refusal.Dimension.Name
	if !is || !refusal.Dimension.Kind.OfClass() || pod.Wants(class) {
		return explained
	}
	for _, claim := range pod.Claims {
		for asked := range claim.Usage.Classes {
			if !slices.Contains(exceeded.AskedFor, asked) {
				exceeded.AskedFor = append(exceeded.AskedFor, asked)
			}
		}
	}
	return exceeded
}

// refuseUnlisted refuses devices picked for a claim if a listed class is required, but no queue on the way to the root lists one of theirs.
func (s *Session) refuseUnlisted(state *State, claim *demand.Claim, result *resourceapi.AllocationResult) report.Refusal {
	if s.RefuseUnlisted == nil {
		return nil
	}
	usage, err := dra.Allocated(&claim.Object.Spec, result, s.Catalog)
	if err != nil {
		return nil // the claim was already counted: there is no error
	}
	return s.RefuseUnlisted(state.pod.Queue, &usage)
}

// refuseUnknown refuses picked devices with a limited capacity of which an unknown amount is in use.
func (s *Session) refuseUnknown(state *State, picked ledger.Amounts) report.Refusal {
	if s.RefuseUnknown == nil {
		return nil
	}
	return s.RefuseUnknown(state.pod.Queue, picked)
}

// checkCapacities returns an error if a queue limits a capacity that a picked device lacks. Then the device cannot be counted.
func (s *Session) checkCapacities(state *State, lacking []ledger.Ordinal, result *resourceapi.AllocationResult) error {
	for _, o := range lacking {
		if by, _, limited := state.books.Nearest(state.pod.Queue, o); limited {
			return fmt.Errorf("queue %s limits %s, a capacity that device %s of the class does not have: take it out of the queue's quota, or correct its name",
				state.books.Name(by), s.Dimensions.Dimension(o), firstDevice(result))
		}
	}
	return nil
}

func firstDevice(result *resourceapi.AllocationResult) dra.DeviceID {
	return idOf(&result.Devices.Results[0])
}

// pick picks devices on a node. It returns nil if the node lacks devices, or if the quota allows none of them.
func (s *Session) pick(state *State, node *corev1.Node) (*pick, error) {
	picked, _, err := s.search(state, node, state.effort.Node())
	return picked, err
}

// search is pick. It also returns the quota with its results.
func (s *Session) search(state *State, node *corev1.Node, effort *dra.NodeEffort) (*pick, *nodeQuota, error) {
	picked := &pick{changes: s.allocator.ChangesOn(node.Name)}
	quota := &nodeQuota{session: s, state: state, node: node, pods: []*State{state}}
	results, err := s.allocator.Pick(s.searchContext(), node, state.objects(), quota.asQuota(), effort)
	if quota.refusal != nil {
		state.refuse(quota.refusal)
	}
	switch {
	case err != nil:
		return nil, quota, err
	case results == nil:
		return nil, quota, quota.failed
	}
	picked.results, picked.amounts = results, quota.amounts
	return picked, quota, nil
}

// searchContext returns the context of searches. A session that runs when the scheduler stops continues to its end.
func (s *Session) searchContext() context.Context { return context.WithoutCancel(s.ctx) }
