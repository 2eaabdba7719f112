// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// queueState is the state of a queue's quotas besides its limits.
type queueState struct {
	// invalid says why the device quota is unknown. It is empty if the quota is known.
	invalid string
	// notRead says that the queue has not been read yet: none of its quotas is known.
	notRead bool
	// listsCards says that the queue has a card quota. cards are the limits in its card annotations.
	listsCards bool
	cards      quota.Limits
	// devices are the effective device limits of the queue itself, without its ancestors.
	devices quota.Limits
	version queueVersion
}

// buildTree builds the tree of queues. Without hierarchy, it is a forest of queues without parents.
func (s *Snapshot) buildTree() {
	specs := make([]ledger.QueueSpec, 0, len(s.Queues)+1)
	for _, queue := range s.Queues {
		specs = append(specs, s.queueSpec(queue))
	}
	specs, s.misplaced = quota.Arrange(specs, s.Hierarchy, s.topSpec(ledger.QueueSpec{}))
	if s.Quotas != nil {
		s.Quotas.Forget(len(s.Queues))
	}
	s.countCluster()
	s.Ledger, _ = ledger.New(s.Dimensions, s.ClusterTotal, specs)
	s.held = s.Ledger.Held()
	s.reviewDimensions(specs)
}

// queueSpec combines the session's view of a queue with its device and card quotas. Unknown quotas are left out: then
// the plugin refuses devices or cards to the queue.
func (s *Snapshot) queueSpec(queue *api.QueueInfo) ledger.QueueSpec {
	spec := ledger.QueueSpec{Name: queue.Name, Parent: quota.Parent(queue.Name, queue.Queue.Spec.Parent)}
	var state queueState
	var limits quota.Limits
	if s.Quotas != nil {
		state, limits = s.quotasOf(queue)
	}
	state.version.written = queue.Queue
	s.mistakes.note(queue.Name, state.version)
	s.queues[queue.Name] = state
	s.listClasses(queue.Name, &limits)
	if !s.Hierarchy || queue.Name == quota.Root {
		spec = s.topSpec(spec)
	}
	spec.ListsCards = spec.ListsCards || state.listsCards
	s.countsCards = s.countsCards || spec.ListsCards || len(state.cards.Deserved)+len(state.cards.Guarantee) > 0
	written := queue.Queue.Spec
	for _, list := range []corev1.ResourceList{written.Capability, written.Deserved, written.Guarantee.Resource} {
		s.listOffering(list)
	}
	spec.Capability = s.Resources.List(quota.Resources(written.Capability), limits.Capability)
	spec.Deserved = s.Resources.List(quota.Resources(written.Deserved), limits.Deserved)
	spec.Guarantee = s.Resources.List(quota.Resources(written.Guarantee.Resource), limits.Guarantee)
	return spec
}

// topSpec adds to a topmost queue what also applies to the queues below it.
func (s *Snapshot) topSpec(spec ledger.QueueSpec) ledger.QueueSpec {
	spec.ListsCards = s.CardQuotaRequired
	spec.DeviceQuotaRequired = s.DeviceQuotaRequired && !s.UnlistedOnPick()
	return spec
}

// quotasOf returns the device and card limits of a queue. Unknown limits are left out.
func (s *Snapshot) quotasOf(queue *api.QueueInfo) (queueState, quota.Limits) {
	quotas, err := s.Quotas.Of(queue.Name, queue.Queue.UID, s.Dimensions)
	if err != nil {
		s.invalidQuotas = true
		return queueState{invalid: err.Error(), notRead: true}, quota.Limits{}
	}
	quotas.Report(s.Problems, queue.Name)
	state, limits := queueState{listsCards: quotas.ListsCards, cards: quotas.Cards, devices: quotas.Devices, version: queueVersion{object: quotas.Queue}}, quotas.Devices
	if quotas.DevicesErr != nil {
		state.invalid, s.invalidQuotas = quotas.DevicesErr.Error(), true
	}
	limits.Capability = append(limits.Capability, quotas.Cards.Capability...)
	limits.Deserved = append(limits.Deserved, quotas.Cards.Deserved...)
	limits.Guarantee = append(limits.Guarantee, quotas.Cards.Guarantee...)
	return state, limits
}
