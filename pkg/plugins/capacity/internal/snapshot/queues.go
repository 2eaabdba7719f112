// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// queueState is what is known of the quotas of a queue besides its limits.
type queueState struct {
	// invalid says why the quota of devices is not known. It is empty if the quota is known.
	invalid string
	// notRead says that the queue has not been read yet, so that none of its quotas is known.
	notRead bool
	// listsCards says that the queue has a card quota.
	listsCards bool
	version    queueVersion
}

// buildTree builds the tree of queues. Without hierarchy it is a forest of queues that have no parent.
func (s *Snapshot) buildTree() {
	specs := make([]ledger.QueueSpec, 0, len(s.Queues)+1)
	for _, queue := range s.Queues {
		specs = append(specs, s.queueSpec(queue))
	}
	if _, found := s.Queues[RootQueue]; !found {
		// Somebody deleted the root. All other queues are its descendants and go on without it.
		specs = append(specs, s.topSpec(ledger.QueueSpec{Name: RootQueue}))
	}
	for _, queue := range ledger.Misplaced(specs) {
		if s.misplaced == nil {
			s.misplaced = map[string]string{}
		}
		s.misplaced[queue.Queue] = queue.Reason
	}
	if !s.Hierarchy {
		for i := range specs {
			specs[i].Parent = ""
		}
	}
	s.forgetCardQuotas()
	s.countCluster()
	s.Ledger, _ = ledger.New(s.Dimensions, s.ClusterTotal, specs)
	s.held = s.Ledger.Held()
	s.reviewDimensions(specs)
}

// queueSpec combines what the session knows of a queue with its quotas of devices and cards. A quota that is not
// known is left out: the plugin refuses devices or cards to the queue then.
func (s *Snapshot) queueSpec(queue *api.QueueInfo) ledger.QueueSpec {
	spec := ledger.QueueSpec{Name: queue.Name, Parent: parentOf(queue)}
	object, err := s.queueObject(queue)
	state := queueState{notRead: err != nil, version: queueVersion{written: queue.Queue, object: object}}
	s.mistakes.note(queue.Name, state.version)
	var devices quota.Limits
	if err == nil && object != nil {
		if devices, err = quota.Devices(object, s.Dimensions); err != nil {
			s.Problems.QuotaNotRead(queue.Name, err)
		}
		var cards ledger.Amounts
		cards, state.listsCards = s.cardQuota(object)
		devices.Capability = append(devices.Capability, cards...)
	}
	if err != nil {
		state.invalid, s.invalidQuotas = err.Error(), true
	}
	s.queues[queue.Name] = state
	s.listClasses(queue.Name, &devices)
	if !s.Hierarchy || queue.Name == RootQueue {
		spec = s.topSpec(spec)
	}
	spec.ListsCards = spec.ListsCards || state.listsCards
	s.limitsCards = s.limitsCards || spec.ListsCards
	written := queue.Queue.Spec
	spec.Capability = s.Resources.List(written.Capability, devices.Capability)
	spec.Deserved = s.Resources.List(written.Deserved, devices.Deserved)
	spec.Guarantee = s.Resources.List(written.Guarantee.Resource, devices.Guarantee)
	return spec
}

// topSpec adds to a topmost queue what holds for the queues below it as well.
func (s *Snapshot) topSpec(spec ledger.QueueSpec) ledger.QueueSpec {
	spec.ListsCards = s.CardQuotaRequired
	spec.DeviceQuotaRequired = s.DeviceQuotaRequired && !s.UnlistedOnPick()
	return spec
}

// cardQuota returns the card quota of a queue, and whether the queue has one. If the quota is invalid,
// the last valid one holds. A queue that never had a valid one may use no card.
func (s *Snapshot) cardQuota(object *schedulingv1beta1.Queue) (ledger.Amounts, bool) {
	cards, err := quota.Cards(object, s.Dimensions)
	switch {
	case err != nil:
		last, found := s.lastGoodCards[object.UID]
		s.Problems.CardQuotaNotRead(object.Name, err, found)
		return last, true
	case cards == nil:
		delete(s.lastGoodCards, object.UID)
		return nil, false
	default:
		s.lastGoodCards[object.UID] = cards
		return cards, true
	}
}

// forgetCardQuotas drops the quotas of queues that are gone.
func (s *Snapshot) forgetCardQuotas() {
	if len(s.lastGoodCards) <= len(s.Queues) {
		return
	}
	there := map[types.UID]bool{}
	for _, queue := range s.Queues {
		there[queue.Queue.UID] = true
	}
	maps.DeleteFunc(s.lastGoodCards, func(uid types.UID, _ ledger.Amounts) bool { return !there[uid] })
}

// queueObject returns the queue with its spec.dra, nil if spec.dra is not read. A queue that the session sees
// before the informer does is an error for now, never a queue without limits.
func (s *Snapshot) queueObject(queue *api.QueueInfo) (*schedulingv1beta1.Queue, error) {
	if s.QueueObjects == nil {
		return nil, nil
	}
	object, err := s.QueueObjects.Get(queue.Name)
	if err != nil || queue.Queue.UID != "" && object.UID != queue.Queue.UID {
		return nil, fmt.Errorf("its quota has not been read from the API server yet")
	}
	return object, nil
}

func parentOf(queue *api.QueueInfo) string {
	switch parent := queue.Queue.Spec.Parent; {
	case queue.Name == RootQueue:
		return ""
	case parent == "":
		return RootQueue
	default:
		return parent
	}
}
