// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"math"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// ClaimReader reads claims as the scheduler knows them.
type ClaimReader interface {
	dra.ClaimReader
	// InUse returns the current version of a claim, and whether it is allocated or about to be.
	InUse(*resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool)
	// Allocated returns the claims that have an allocation in the API server.
	Allocated() ([]*resourceapi.ResourceClaim, error)
}

// consumer is a pod with claims.
type consumer struct {
	task *api.TaskInfo
	pod  *demand.Pod
	// created is the second in which the pod was created.
	created int64
	// unattributed says that root is charged because the queue of the pod is unknown.
	unattributed bool
}

func newConsumer(task *api.TaskInfo, pod *demand.Pod) consumer {
	return consumer{task: task, pod: pod, created: task.Pod.CreationTimestamp.Unix()}
}

// holds reports whether a consumer holds a claim permanently. This is so if the claim is reserved for the pod, the pod is being
// bound, or the record of the pod lists the claim (pods and claims are watched separately). Any other bound pod got a different claim
// of the same name: users can delete a claim and create a new one.
func (s *Snapshot) holds(c *consumer, claim *demand.Claim) bool {
	if leaving := s.IsLeaving(c.task); leaving || claim.HeldBy(c.task.Pod) {
		return !leaving
	}
	return placed(c.task) && (dra.InMemory(claim.Object) || !dra.Bound(c.task.Pod) || chargerecord.Lists(c.task.Pod, claim.Object))
}

// chargeClaims charges the claims that pods hold. The queue for which a claim got its devices pays until they are returned, no matter
// which pods share the claim. If this queue is unknown, the queue of the first pod in the reservation pays, or else the queue of the
// oldest pod. Pods whose queue is unknown, too, come after the others. Claims of releasing pods come last.
func (s *Snapshot) chargeClaims() {
	slices.SortFunc(s.consumers, func(a, b consumer) int { return cmp.Or(cmp.Compare(a.created, b.created), olderFirst(a.task, b.task)) })
	unknown := map[*demand.Claim][]consumer{}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if !s.holds(&c, claim) {
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
		place := func(c consumer) int {
			if c.unattributed {
				return math.MaxInt
			}
			return dra.PlaceOf(c.task.Pod, claim.Object)
		}
		slices.SortStableFunc(consumers, func(a, b consumer) int { return cmp.Compare(place(a), place(b)) })
		for _, c := range consumers {
			s.charge(c.pod.Queue, c.task, ledger.Demand{claim.Part})
		}
		s.unknownPayer[claim] = consumers[0].unattributed
	}
	for _, c := range s.consumers {
		for _, claim := range c.pod.Claims {
			if s.IsLeaving(c.task) && (claim.HeldBy(c.task.Pod) || runs(c.task.Pod) && chargerecord.Lists(c.task.Pod, claim.Object)) {
				queue, known := s.payingQueue(claim.Object)
				if !known {
					queue = c.pod.Queue
				}
				if !s.Ledger.Charged(claim.Part) {
					s.unknownPayer[claim] = !known && c.unattributed
				}
				s.retain(queue, c.task, claim.Part)
			}
		}
	}
}

// payingQueue returns the queue for which a claim got its devices. If this queue is gone, it returns the lowest ancestor that still
// exists. It returns false if the claim has no devices, or if neither this process nor the record of the claim knows the queue.
func (s *Snapshot) payingQueue(claim *resourceapi.ResourceClaim) (ledger.QueueID, bool) {
	queue, path := s.payingPath(claim)
	return queue, path != nil
}

// payingPath is payingQueue, plus the path of the original queue: the queue and its ancestors. The path is nil if it is unknown.
func (s *Snapshot) payingPath(claim *resourceapi.ResourceClaim) (ledger.QueueID, []string) {
	if claim.Status.Allocation == nil {
		return 0, nil
	}
	if path := s.payers[claim.UID]; path != nil {
		if queue, found := s.lowest(path); found {
			return queue, path
		}
	}
	path := chargerecord.Path(claim)
	if queue, found := s.lowest(path); found {
		return queue, path
	}
	return 0, nil
}

// findUnknownCapacity finds claims whose capacity is unknown because their devices are no longer published. This
// happens only after a start: a scheduler that has seen the devices remembers them.
func (s *Snapshot) findUnknownCapacity() {
	for claim := range s.Counter.Claims.All {
		payer, _, charged := s.Ledger.Payer(claim.Part)
		if len(claim.Usage.Gone) == 0 || !charged {
			continue
		}
		if s.unknownCapacity == nil {
			s.unknownCapacity = map[string]map[ledger.QueueID]*demand.Claim{}
		}
		for class := range claim.Usage.Classes {
			if s.unknownCapacity[class] == nil {
				s.unknownCapacity[class] = map[ledger.QueueID]*demand.Claim{}
			}
			s.unknownCapacity[class][payer] = firstOf(s.unknownCapacity[class][payer], claim)
		}
	}
}

// firstOf returns always the same of two claims. Another claim would mean another message, and another event in each session. The first one may be nil.
func firstOf(a, b *demand.Claim) *demand.Claim {
	if a == nil || b.Object.UID < a.Object.UID {
		return b
	}
	return a
}

// CapacityInUseUnknown refuses devices of classes that a queue wants, if it limits a capacity of them, or a queue above it does, and if a claim
// that counts there, too, holds an unknown amount. Otherwise, it returns nil.
func (s *Snapshot) CapacityInUseUnknown(queue ledger.QueueID, wants func(class string) bool) report.Refusal {
	for _, class := range slices.Sorted(maps.Keys(s.unknownCapacity)) {
		if !wants(class) {
			continue
		}
		for _, o := range s.Dimensions.Capacities(class) {
			var holder *demand.Claim
			var by ledger.QueueID
			for payer, claim := range s.unknownCapacity[class] {
				common, found := s.Ledger.Common(queue, payer)
				if !found {
					continue
				}
				if limiting, _, limited := s.Ledger.Nearest(common, o); limited && firstOf(holder, claim) == claim {
					holder, by = claim, limiting
				}
			}
			if holder != nil {
				return report.CapacityInUseUnknown{
					Queue: s.Ledger.Name(by), Capacity: s.Dimensions.Dimension(o),
					Device: holder.Usage.Gone[0], Claim: holder.Object.Namespace + "/" + holder.Object.Name,
				}
			}
		}
	}
	return nil
}

// UnknownOnPick reports whether picked devices may count for a capacity of which an unknown amount is in use, although their claim asks for another class.
func (s *Snapshot) UnknownOnPick() bool { return len(s.unknownCapacity) > 0 && s.Matcher != nil }

// RefuseUnknown is CapacityInUseUnknown for the amounts of picked devices.
func (s *Snapshot) RefuseUnknown(queue ledger.QueueID, picked ledger.Amounts) report.Refusal {
	return s.CapacityInUseUnknown(queue, func(class string) bool {
		o, known := s.Dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
		return known && picked.Of(o).Sign() > 0
	})
}
