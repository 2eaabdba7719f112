// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Holders returns all holders, and what each job is charged. Those that have held longest come first.
func (s *Session) Holders() ([]v1alpha1.Holder, map[api.JobID]ledger.Amounts) {
	pods := 0
	for _, job := range s.Snapshot.Jobs {
		pods += len(job.Tasks)
	}
	holders := make([]v1alpha1.Holder, 0, pods) // only for speed: a growing list is copied again and again
	charged := map[api.JobID]ledger.Amounts{}
	s.Snapshot.EachHolding(s.Promised, func(h *snapshot.Holding) {
		holders = append(holders, s.holder(h))
		if h.Job != nil {
			charged[h.Job.UID] = plusPaid(charged[h.Job.UID], h)
		}
	})
	slices.SortFunc(holders, compareHolders)
	return holders, charged
}

// HoldersOf returns the holders of the dimensions in a queue and below it, or anywhere if the queue is nil, and what they hold of these. Those that
// others may take something back from come first, and of these those that have held longest. It returns at most the given number, and
// how many others there are.
func (s *Session) HoldersOf(dimensions []ledger.Ordinal, within *ledger.QueueID, atMost int) (first []v1alpha1.Holder, others int32) {
	if len(dimensions) == 0 {
		return nil, 0
	}
	s.Snapshot.EachHolding(s.Promised, func(h *snapshot.Holding) {
		held := s.heldOf(h, dimensions, within)
		if len(held) == 0 {
			return
		}
		found := holderOf(h)
		found.Borrows = s.Snapshot.Ledger.Exceeds(h.Queue, held)
		place, _ := slices.BinarySearchFunc(first, found, compareBorrowers) // kept in order, to describe only these holders
		if len(first) == atMost {
			others++
		}
		if place < atMost {
			holder := s.holder(h)
			holder.Borrows = found.Borrows
			holder.Charged, holder.Shares = s.only(dimensions, holder.Charged), s.only(dimensions, holder.Shares)
			first = slices.Insert(first[:min(len(first), atMost-1)], place, holder)
		}
	})
	return first, others
}

// heldOf returns what a holding has of the dimensions that is charged within a queue, or to any queue if within is nil.
func (s *Session) heldOf(h *snapshot.Holding, dimensions []ledger.Ordinal, within *ledger.QueueID) ledger.Amounts {
	var held ledger.Amounts
	for i := range h.Parts {
		if within != nil && !s.Snapshot.Ledger.Within(h.Parts[i].Queue, *within) {
			continue
		}
		for _, o := range dimensions {
			if amount := h.Parts[i].Amounts.Of(o); amount.Sign() > 0 {
				held = plus(held, ledger.Amounts{{Dimension: o, Amount: amount}})
			}
		}
	}
	return held
}

// only returns the amounts of the dimensions.
func (s *Session) only(dimensions []ledger.Ordinal, amounts []v1alpha1.Amount) []v1alpha1.Amount {
	return slices.DeleteFunc(amounts, func(a v1alpha1.Amount) bool {
		return !slices.ContainsFunc(dimensions, func(o ledger.Ordinal) bool { return Dimension(s.Snapshot.Dimensions.Dimension(o)) == a.Dimension })
	})
}

// Holder returns what one pod holds, false if that is nothing. The job is nil if the session has none for the pod.
func (s *Session) Holder(job *api.JobInfo, task *api.TaskInfo) (holder v1alpha1.Holder, holds bool) {
	s.Snapshot.HoldingOf(job, task, s.Promised, func(h *snapshot.Holding) { holder, holds = s.holder(h), true })
	return holder, holds
}

// Charged returns what the queue of a job is charged for the job.
func (s *Session) Charged(job *api.JobInfo) []v1alpha1.Amount {
	var charged ledger.Amounts
	for _, task := range job.Tasks {
		s.Snapshot.HoldingOf(job, task, s.Promised, func(h *snapshot.Holding) { charged = plusPaid(charged, h) })
	}
	return s.Amounts(charged)
}

// pays reports whether the queue of a holder is charged for a part. A shared claim may be charged to another queue.
func pays(h *snapshot.Holding, part *snapshot.HeldPart) bool {
	return part.Pays && part.Queue == h.Queue
}

// plusPaid adds what the queue of a holder is charged.
func plusPaid(sum ledger.Amounts, h *snapshot.Holding) ledger.Amounts {
	for i := range h.Parts {
		if pays(h, &h.Parts[i]) {
			sum = plus(sum, h.Parts[i].Amounts)
		}
	}
	return sum
}

// compareHolders puts those first that have held longest.
func compareHolders(a, b v1alpha1.Holder) int {
	return cmp.Or(compareTimes(a.Since, b.Since), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// compareBorrowers puts those first whose queue holds more than it deserves.
func compareBorrowers(a, b v1alpha1.Holder) int {
	switch {
	case a.Borrows == b.Borrows:
		return compareHolders(a, b)
	case a.Borrows:
		return -1
	default:
		return 1
	}
}

// compareTimes puts unknown times last.
func compareTimes(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	default:
		return a.Compare(b.Time)
	}
}

// holder describes what a pod or claim holds.
func (s *Session) holder(h *snapshot.Holding) v1alpha1.Holder {
	holder := holderOf(h)
	holder.Queue, holder.State = s.Snapshot.Ledger.Name(h.Queue), stateOf(h)
	if h.Job != nil && h.Job.PodGroup != nil {
		holder.Workload = h.Job.PodGroup.Name
	}
	var shares ledger.Amounts
	for i := range h.Parts {
		part := &h.Parts[i]
		if !pays(h, part) {
			shares = plus(shares, part.Amounts)
		}
		if part.Claim != nil {
			holder.Devices = append(holder.Devices, devicesOf(part.Claim.Object)...)
		}
	}
	holder.Charged, holder.Shares = s.Amounts(plusPaid(nil, h)), s.Amounts(shares)
	return holder
}

// holderOf returns which pod or claim holds something, and since when.
func holderOf(h *snapshot.Holding) v1alpha1.Holder {
	if h.Task == nil {
		return v1alpha1.Holder{Object: Object("ResourceClaim", &h.Claim.ObjectMeta), Since: allocatedSince(h.Claim)}
	}
	return v1alpha1.Holder{Object: Object("Pod", &h.Task.Pod.ObjectMeta), Node: h.Task.NodeName, Since: snapshot.ScheduledSince(h.Task.Pod)}
}

func stateOf(h *snapshot.Holding) v1alpha1.HolderState {
	switch {
	case h.Task != nil && h.Task.Status == api.Releasing, h.Parts[0].Releasing:
		return v1alpha1.IsReleasing
	case h.Parts[0].Promised:
		return v1alpha1.IsPromised
	default:
		return v1alpha1.Holds
	}
}

// allocatedSince returns when a claim got its devices. If this is unknown, it returns the creation time of the claim.
func allocatedSince(claim *resourceapi.ResourceClaim) *metav1.Time {
	if claim.Status.Allocation != nil && claim.Status.Allocation.AllocationTimestamp != nil {
		return claim.Status.Allocation.AllocationTimestamp
	}
	if claim.CreationTimestamp.IsZero() {
		return nil
	}
	return &claim.CreationTimestamp
}

func devicesOf(claim *resourceapi.ResourceClaim) []v1alpha1.DeviceID {
	if claim.Status.Allocation == nil {
		return nil
	}
	results := claim.Status.Allocation.Devices.Results
	devices := make([]v1alpha1.DeviceID, len(results))
	for i := range results {
		devices[i] = v1alpha1.DeviceID{Claim: claim.Name, Driver: results[i].Driver, Pool: results[i].Pool, Device: results[i].Device}
	}
	return devices
}
