// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// PlaceOn returns the variant of a pod that counts on a node, and makes it count from now on. A pod without variants is its own. The
// node is nil if the session lacks it.
func (s *Snapshot) PlaceOn(pod *demand.Pod, node *api.NodeInfo) *demand.Pod {
	if pod.Alternatives() == nil || node == nil {
		return pod
	}
	return s.Place(pod, dra.Served(node.Node))
}

// AssignCards assigns the cards of its node to a pod that is being placed. They are charged by Allocate.
func (s *Snapshot) AssignCards(pod *demand.Pod, task *api.TaskInfo) {
	if pod.Cards == nil {
		return
	}
	if err := pod.Cards.Assign(s.Ledger, s.Fleet.Node(task.NodeName), nil); err != nil {
		klog.ErrorS(err, "Failed to count the cards of a pod", "pod", klog.KObj(task.Pod))
	}
}

// UnassignCards undoes AssignCards, for a pod that is not placed after all.
func (s *Snapshot) UnassignCards(pod *demand.Pod) {
	if err := s.Unassign(pod, s.Ledger); err != nil {
		klog.ErrorS(err, "Failed to take back the cards of a pod", "pod", klog.KObj(pod.Object))
	}
}

// FitsHeld returns an error if the demand of a pod does not fit beside what releasing pods still hold. Volcano checks
// that before it places a pod, but not in every action, and not when it goes back to an earlier choice.
func (s *Snapshot) FitsHeld(pod *demand.Pod) error {
	return asError(s.Held().Fits(pod.Queue, pod.Checked))
}

// FitsCards returns an error if the cards that are assigned to a pod do not fit when releasing pods are gone.
// Volcano does not ask when it goes back to an earlier choice.
func (s *Snapshot) FitsCards(pod *demand.Pod) error {
	if !s.LimitsCards(pod) {
		return nil
	}
	return asError(s.Ledger.Fits(pod.Queue, ledger.Demand{&pod.Cards.Part}))
}

func asError(refusal *ledger.Refusal, err error) error {
	if err == nil && refusal != nil {
		return errors.New(refusal.String())
	}
	return err
}

// AssignClaim makes a claim come to what was picked for it.
func (s *Snapshot) AssignClaim(claim *demand.Claim, amounts ledger.Amounts) error {
	return claim.Assign(s.Ledger, amounts)
}

// UnassignClaim undoes AssignClaim.
func (s *Snapshot) UnassignClaim(claim *demand.Claim) error {
	return claim.Unassign(s.Ledger)
}

// Allocate charges a pod that has been given a node, or whose eviction has been undone.
func (s *Snapshot) Allocate(pod *demand.Pod, task *api.TaskInfo) {
	s.charge(pod.Queue, task, pod.Demand)
	s.forget(&pod.Resources)
	s.chargedCards(pod)
	for _, claim := range pod.Claims {
		if dra.HeldBy(task.Pod, claim.Object) {
			s.forget(claim.Part)
		}
	}
}

func (s *Snapshot) chargedCards(pod *demand.Pod) {
	if pod.Cards != nil {
		s.forget(&pod.Cards.Part)
		s.Remember(pod)
	}
}

// Pipeline charges a pod that is pipelined, and returns what it is charged in place of its claims. The pod does not
// pay for its claims: pods that share them would get them for nothing, and the pod may never run.
// Claims that nobody pays for are charged as parts of their own. The charge keeps others from getting the same
// room, but it is not allocated: the pod holds nothing yet.
func (s *Snapshot) Pipeline(pod *demand.Pod, task *api.TaskInfo) ledger.Demand {
	var pipelined ledger.Demand
	for _, claim := range pod.Claims {
		if !s.Ledger.Charged(claim.Part) {
			twin := claim.Part.Twin()
			pipelined = append(pipelined, &twin)
		}
	}
	if err := s.Ledger.Pipeline(pod.Queue, HolderOf(task), append(slices.Clip(pod.Own()), pipelined...)); err != nil {
		klog.ErrorS(err, "Failed to charge a pipelined pod", "pod", klog.KObj(task.Pod))
	}
	return pipelined
}

// Deallocate refunds what a pod holds, the pipelined charge included. A pod that is being evicted still runs, so that it is noted that it
// still holds that. Devices that are allocated in the API server are not free before their claims say so.
func (s *Snapshot) Deallocate(pod *demand.Pod, task *api.TaskInfo, pipelined ledger.Demand) {
	holder := HolderOf(task)
	for _, part := range pod.Own() {
		if err := s.Ledger.Release(part, holder); err != nil {
			klog.ErrorS(err, "Failed to refund a pod", "pod", klog.KObj(task.Pod))
		}
	}
	if task.Status == api.Releasing {
		s.retain(pod.Queue, task, &pod.Resources)
	}
	s.releaseCards(pod, task)
	if err := s.Ledger.ReleaseHeld(holder, pipelined); err != nil {
		klog.ErrorS(err, "Failed to refund a pod that was pipelined", "pod", klog.KObj(task.Pod))
	}
	for _, claim := range pod.Claims {
		queue, _, charged := s.Ledger.Payer(claim.Part)
		if !charged {
			queue = pod.Queue
		}
		if err := s.Ledger.ReleaseHeld(holder, ledger.Demand{claim.Part}); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim.Object), "pod", klog.KObj(task.Pod))
		}
		if dra.HeldBy(task.Pod, claim.Object) {
			s.retain(queue, task, claim.Part)
		}
	}
}

// releaseCards notes that a pod still holds the cards that it had when the session began. A pod that was only going
// to get cards holds none.
func (s *Snapshot) releaseCards(pod *demand.Pod, task *api.TaskInfo) {
	switch {
	case pod.Cards == nil:
	case !pod.Cards.Placed:
		s.UnassignCards(pod)
	case s.Ledger.ListsCards(pod.Queue):
		s.retain(pod.Queue, task, &pod.Cards.Part)
	}
}
