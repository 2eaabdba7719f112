// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Group is a node and the pods that are to get devices there. All groups of a choice have pods of one queue.
type Group struct {
	Node *corev1.Node
	Pods []*State
}

// Choice has devices for the claims of several pods.
type Choice map[types.UID]chosen

// chosen is the allocation of one claim.
type chosen struct {
	node  string
	claim allocatedClaim
	// amounts is nil if the amounts do not depend on the devices.
	amounts ledger.Amounts
}

// PickTogether picks devices for pods so that all of them can have theirs at the same time, within the quota. If the devices that it has picked on one
// node leave too little for the next one, it picks others. PreFilter must have run for each pod. Others is what pods of the queue ask for that need no devices.
// The result is nil if there are no such devices. The error is an UnfinishedError, or says why a claim cannot be allocated.
func (s *Session) PickTogether(groups []Group, others ledger.Demand, effort *dra.Effort) (Choice, error) {
	t := together{session: s, effort: effort, choice: Choice{}}
	if t.pick(groups, others) {
		return t.choice, nil
	}
	return nil, t.err
}

// together is a search for devices on several nodes.
type together struct {
	session *Session
	effort  *dra.Effort
	choice  Choice
	err     error
}

// pick picks devices for groups beside others, for which others asks.
func (t *together) pick(groups []Group, others ledger.Demand) bool {
	if len(groups) == 0 {
		return true
	}
	group, first := groups[0], groups[0].Pods[0]
	all := &State{pod: first.pod, books: first.books}
	quota := &nodeQuota{session: t.session, state: all, node: group.Node, pods: group.Pods, others: others, next: len(groups) > 1}
	for _, pod := range group.Pods {
		all.open = all.open || pod.open
		if !t.join(quota, pod) {
			return false
		}
	}
	accepts := func(results []resourceapi.AllocationResult) bool {
		return quota.together(results) && t.with(all, quota, results, groups[1:])
	}
	if len(all.unallocated) == 0 {
		return accepts(nil)
	}
	results, err := t.session.allocator.Pick(t.session.searchContext(), group.Node, all.objects(), dra.Quota{Accepts: accepts, Charge: quota.charge, Possible: quota.possible}, t.effort.Node())
	t.err = cmp.Or(t.err, err, quota.failed)
	return results != nil
}

// join adds the claims of a pod that need devices. It returns false if the node cannot use the devices of others.
func (t *together) join(quota *nodeQuota, pod *State) bool {
	for i := range pod.allocated {
		if pod.allocated[i].check(quota.node) != nil {
			return false
		}
	}
	all := quota.state
	for _, claim := range pod.unallocated {
		decided, found := t.choice[claim.Object.UID]
		switch {
		case found && decided.claim.check(quota.node) != nil:
			return false
		case found:
			quota.decided = append(quota.decided, claim.Part)
		case !slices.ContainsFunc(all.unallocated, func(other *demand.Claim) bool { return other.Object.UID == claim.Object.UID }):
			all.unallocated = append(all.unallocated, claim)
		}
	}
	return true
}

// with reports whether the next groups get devices beside the results for one group.
func (t *together) with(all *State, quota *nodeQuota, results []resourceapi.AllocationResult, next []Group) bool {
	taken := make([]*resourceapi.AllocationResult, len(results))
	for i, claim := range all.unallocated {
		object := *claim.Object
		object.Status.Allocation = results[i].DeepCopy()
		allocated, err := allocatedClaimOf(&object)
		if err != nil {
			t.err = cmp.Or(t.err, err)
			return false
		}
		c := chosen{node: quota.node.Name, claim: allocated}
		if all.open {
			c.amounts = quota.amounts[i]
		}
		t.choice[claim.Object.UID], taken[i] = c, object.Status.Allocation
	}
	if len(next) > 0 && !t.session.Catalog.NodesShareNothing() {
		defer t.session.allocator.Suppose(nil, taken)()
	}
	if t.pick(next, quota.asked) {
		return true
	}
	for _, claim := range all.unallocated {
		delete(t.choice, claim.Object.UID)
	}
	return false
}

// together reports whether the quota allows devices for all pods.
func (q *nodeQuota) together(results []resourceapi.AllocationResult) bool {
	if q.state.open {
		return q.accepts(results)
	}
	least := make([]ledger.Amounts, len(q.state.unallocated))
	for i, claim := range q.state.unallocated {
		least[i] = claim.Part.Amounts()
	}
	refused, busy, err := q.fits(least)
	return refused == nil && busy == nil && err == nil
}

// Follow gives the pods of a choice their devices, and no others, until it is called again. Nothing must get devices in between that the choice does not have.
// A nil choice ends it.
func (s *Session) Follow(choice Choice) { s.following = choice }

// followed returns the chosen devices of a pod on a node, nil if some were chosen for another node, or none were.
func (s *Session) followed(state *State, node *corev1.Node) *pick {
	if s.following == nil {
		return nil
	}
	picked := &pick{changes: s.allocator.ChangesOn(node.Name)}
	for _, claim := range state.unallocated {
		c, found := s.following[claim.Object.UID]
		if !found || c.node != node.Name {
			return nil
		}
		picked.results = append(picked.results, *c.claim.Status.Allocation)
		if state.open {
			picked.amounts = append(picked.amounts, c.amounts)
		}
	}
	return picked
}

// Simple reports whether it does not matter which of the suitable devices a pod gets, if all others that ask for devices are alike.
func (s *Session) Simple(state *State) bool {
	return !state.open && len(state.unallocated) == 1 && len(state.allocated) == 0 && s.Catalog.AnySuits(state.unallocated[0].Object)
}

// EffortTogether returns the effort for the search for all pods of a job together in this session. What it spends does not keep the pods from long searches
// of their own, such as those for evictions if the search is in vain.
func (s *Session) EffortTogether(queue, job string) *dra.Effort {
	return s.budget.Of(queue, job+" together")
}

// Coupled reports whether the devices that a pod gets on one node may decide what others get on other nodes: nodes share devices, or the quota counts
// the devices that are picked.
func (s *Session) Coupled(state *State) bool { return state.open || !s.Catalog.NodesShareNothing() }
