// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// ClaimReader reads claims as the scheduler knows them.
type ClaimReader interface {
	dra.ClaimReader
	// InUse returns a claim as it is now, and whether it is allocated or about to be allocated.
	InUse(*resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool)
	// Allocated returns the claims that the API server has with an allocation.
	Allocated() ([]*resourceapi.ResourceClaim, error)
}

// consumer is a pod with claims.
type consumer struct {
	task *api.TaskInfo
	pod  *demand.Pod
}

// holds reports whether the consumer holds a claim for good: it has a node, or the claim is allocated to it.
func (c *consumer) holds(claim *demand.Claim) bool {
	return !isLeaving(c.task) && (api.AllocatedStatus(c.task.Status) || dra.HeldBy(c.task.Pod, claim.Object))
}

// chargeClaims charges the claims that pods hold. A claim that several pods share is charged to one of them, the
// payer: the pod that paid last; else the first pod that the claim is reserved for; else the oldest
// pod. Claims of releasing pods come last.
func (s *Snapshot) chargeClaims() {
	slices.SortFunc(s.consumers, func(a, b consumer) int { return olderFirst(a.task, b.task) })
	shared := map[*demand.Claim][]consumer{}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			switch {
			case !c.holds(claim):
			case metav1.GetControllerOf(claim.Object) == nil:
				shared[claim] = append(shared[claim], c)
			default:
				s.charge(c.pod.Queue, c.task, ledger.Demand{claim.Part})
			}
		}
	}
	for claim, consumers := range shared {
		s.chargeShared(claim, consumers)
	}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if isLeaving(c.task) && dra.HeldBy(c.task.Pod, claim.Object) {
				s.retainClaim(c.pod, c.task, claim)
			}
		}
	}
}

// chargeShared charges a claim to its payer first, and then adds the other consumers in their order.
func (s *Snapshot) chargeShared(claim *demand.Claim, consumers []consumer) {
	last := s.payers[claim.Object.UID].holder
	place := func(c consumer) int {
		if HolderOf(c.task) == last {
			return -1
		}
		return dra.PlaceOf(c.task.Pod, claim.Object)
	}
	slices.SortStableFunc(consumers, func(a, b consumer) int { return cmp.Compare(place(a), place(b)) })
	for _, c := range consumers {
		s.charge(c.pod.Queue, c.task, ledger.Demand{claim.Part})
	}
}

// findUnknownCapacity looks for claims whose capacity nobody knows, because their devices are no longer published.
// That happens only after a start: a scheduler that has seen the devices remembers them.
func (s *Snapshot) findUnknownCapacity() {
	for claim := range s.Counter.Claims.All {
		if len(claim.Usage.Gone) == 0 {
			continue
		}
		if s.unknownCapacity == nil {
			s.unknownCapacity = map[string]*demand.Claim{}
		}
		for class := range claim.Usage.Classes {
			// Always the same claim is named. Another one would be another message, and another event in each session.
			if other := s.unknownCapacity[class]; other == nil || claim.Object.UID < other.Object.UID {
				s.unknownCapacity[class] = claim
			}
		}
	}
}

// CapacityInUseUnknown refuses a pod that asks for a capacity which its queue or an ancestor limits and of which
// another claim holds an amount that nobody knows. It returns nil otherwise.
func (s *Snapshot) CapacityInUseUnknown(queue ledger.QueueID, pod *demand.Pod) report.Refusal {
	for _, class := range slices.Sorted(maps.Keys(s.unknownCapacity)) {
		holder := s.unknownCapacity[class]
		for _, o := range s.Dimensions.Capacities(class) {
			if by, _, limited := s.Ledger.Nearest(queue, o); limited && pod.Wants(class) {
				return report.CapacityInUseUnknown{
					Queue: s.Ledger.Name(by), Capacity: s.Dimensions.Dimension(o),
					Device: holder.Usage.Gone[0], Claim: holder.Object.Namespace + "/" + holder.Object.Name,
				}
			}
		}
	}
	return nil
}
