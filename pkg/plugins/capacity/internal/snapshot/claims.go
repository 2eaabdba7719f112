// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/record"
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

// holds reports whether the consumer holds a claim for good: the claim is reserved for it, it is being bound, or its record has the
// claim, because pods and claims are watched apart. Otherwise, a pod that is bound names another claim than it got: users can delete a
// claim, and create another one of the same name.
func (c *consumer) holds(claim *demand.Claim) bool {
	if isLeaving(c.task) || dra.HeldBy(c.task.Pod, claim.Object) {
		return !isLeaving(c.task)
	}
	return api.AllocatedStatus(c.task.Status) && (dra.InMemory(claim.Object) || !dra.Bound(c.task.Pod) || record.Lists(c.task.Pod, claim.Object))
}

// chargeClaims charges the claims that pods hold. The charge of a claim stands at the queue for which the claim got its devices, until
// they are given back, whoever shares the claim. If that queue is not known, it is that of the first pod that the claim is reserved
// for, else that of the oldest pod. Claims of releasing pods come last.
func (s *Snapshot) chargeClaims() {
	slices.SortFunc(s.consumers, func(a, b consumer) int { return olderFirst(a.task, b.task) })
	unknown := map[*demand.Claim][]consumer{}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if !c.holds(claim) {
				continue
			}
			if queue, known := s.payingQueue(claim.Object); known {
				s.charge(queue, c.task, ledger.Demand{claim.Part})
			} else {
				unknown[claim] = append(unknown[claim], c)
			}
		}
	}
	for claim, consumers := range unknown {
		place := func(c consumer) int { return dra.PlaceOf(c.task.Pod, claim.Object) }
		slices.SortStableFunc(consumers, func(a, b consumer) int { return cmp.Compare(place(a), place(b)) })
		for _, c := range consumers {
			s.charge(c.pod.Queue, c.task, ledger.Demand{claim.Part})
		}
	}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if isLeaving(c.task) && dra.HeldBy(c.task.Pod, claim.Object) {
				queue, known := s.payingQueue(claim.Object)
				if !known {
					queue = c.pod.Queue
				}
				s.retain(queue, c.task, claim.Part)
			}
		}
	}
}

// payingQueue returns the queue for which a claim got its devices or, if that is gone, its lowest ancestor that still exists; false if
// neither this process nor the record of the claim says which that is, or if the claim has no devices.
func (s *Snapshot) payingQueue(claim *resourceapi.ResourceClaim) (ledger.QueueID, bool) {
	queue, path := s.payingPath(claim)
	return queue, path != nil
}

// payingPath is payingQueue with the queue for which the claim got its devices, and its ancestors. The path is nil if it is not known.
func (s *Snapshot) payingPath(claim *resourceapi.ResourceClaim) (ledger.QueueID, []string) {
	if claim.Status.Allocation == nil {
		return 0, nil
	}
	if path := s.payers[claim.UID]; path != nil {
		if queue, found := s.lowest(path); found {
			return queue, path
		}
	}
	path := record.Path(claim)
	if queue, found := s.lowest(path); found {
		return queue, path
	}
	return 0, nil
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
