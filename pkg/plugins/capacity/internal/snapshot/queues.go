// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// queueState is what is known of the quotas of a queue besides its limits.
type queueState struct {
	// invalid says why the quota of devices is not known. It is empty if the quota is known.
	invalid string
	// notRead says that the queue has not been read yet, so that none of its quotas is known.
	notRead bool
	// listsCards says that the queue has a card quota. Cards are the limits in the annotations for cards.
	listsCards bool
	cards      quota.Limits
	// devices are the limits of devices that hold, without those of the queues above.
	devices quota.Limits
	version queueVersion
}

// buildTree builds the tree of queues. Without hierarchy it is a forest of queues that have no parent.
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

// queueSpec combines what the session knows of a queue with its quotas of devices and cards. A quota that is not
// known is left out: the plugin refuses devices or cards to the queue then.
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

// topSpec adds to a topmost queue what holds for the queues below it as well.
func (s *Snapshot) topSpec(spec ledger.QueueSpec) ledger.QueueSpec {
	spec.ListsCards = s.CardQuotaRequired
	spec.DeviceQuotaRequired = s.DeviceQuotaRequired && !s.UnlistedOnPick()
	return spec
}

// quotasOf returns the limits of devices and cards of a queue. Those that are not known are left out.
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
