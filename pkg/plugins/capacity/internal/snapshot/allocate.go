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

// PlaceOn returns the variant of a pod that counts on a node. From now on, this variant counts. A pod without variants is its own
// variant. The node is nil if the session lacks it.
func (s *Snapshot) PlaceOn(pod *demand.Pod, node *api.NodeInfo) *demand.Pod {
	if pod.Alternatives() == nil || node == nil {
		return pod
	}
	return s.Place(pod, dra.Served(node.Node))
}

// AssignCards assigns the cards of its node to a pod that is being placed. Allocate charges them.
func (s *Snapshot) AssignCards(pod *demand.Pod, task *api.TaskInfo) {
	if pod.Cards == nil {
		return
	}
	if err := pod.Cards.Assign(s.Ledger, s.Fleet.Node(task.NodeName), nil); err != nil {
		klog.ErrorS(err, "Failed to count the cards of a pod", "pod", klog.KObj(task.Pod))
	}
}

// UnassignCards undoes AssignCards for a pod that is not placed after all.
func (s *Snapshot) UnassignCards(pod *demand.Pod) {
	if err := s.Unassign(pod, s.Ledger); err != nil {
		klog.ErrorS(err, "Failed to take back the cards of a pod", "pod", klog.KObj(pod.Object))
	}
}

// FitsHeld returns an error if the demand of a pod does not fit in addition to what releasing pods still hold. Volcano
// checks this before it places a pod, but not in every action, and not when it returns to an earlier choice.
func (s *Snapshot) FitsHeld(pod *demand.Pod) error {
	return asError(s.Held().Fits(pod.Queue, pod.Checked))
}

// FitsCards returns an error if the cards assigned to a pod do not fit after releasing pods are gone. Volcano does not
// check this when it returns to an earlier choice.
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

// Allocate charges a pod that has got a node, or whose eviction was undone. It returns the parts that stand in for claims that the pod inherits.
func (s *Snapshot) Allocate(pod *demand.Pod, task *api.TaskInfo) ledger.Demand {
	var inherited ledger.Demand
	for _, claim := range pod.Claims {
		if s.inherits(claim) {
			inherited = append(inherited, s.Ledger.StandIn(pod.Queue, claim.Part))
		}
	}
	s.charge(pod.Queue, task, append(slices.Clip(pod.Demand), inherited...))
	s.forget(&pod.Resources)
	s.chargedCards(pod)
	for _, claim := range pod.Claims {
		if claim.HeldBy(task.Pod) {
			s.forget(claim.Part)
		}
	}
	return inherited
}

func (s *Snapshot) chargedCards(pod *demand.Pod) {
	if pod.Cards != nil {
		s.forget(&pod.Cards.Part)
		s.Remember(pod)
	}
}

// Pipeline charges a pipelined pod. It returns the parts that stand in for its unpaid claims. The pod does not pay for
// the claims themselves: pods of other queues that share them would get them for nothing, and the pod may never run. The charge keeps
// the room from other pods, but it is not allocated: the pod holds nothing yet.
func (s *Snapshot) Pipeline(pod *demand.Pod, task *api.TaskInfo) ledger.Demand {
	var pipelined ledger.Demand
	for _, claim := range pod.Claims {
		if s.inherits(claim) || !s.Ledger.Charged(claim.Part) {
			pipelined = append(pipelined, s.Ledger.StandIn(pod.Queue, claim.Part))
		}
	}
	if err := s.Ledger.Pipeline(pod.Queue, HolderOf(task), append(slices.Clip(pod.Own()), pipelined...)); err != nil {
		klog.ErrorS(err, "Failed to charge a pipelined pod", "pod", klog.KObj(task.Pod))
	}
	return pipelined
}

// Deallocate refunds what a pod holds, including the parts that stand in for claims. An evicted pod still runs, so its resources are retained. Devices
// allocated in the API server are free only when their claims say so.
func (s *Snapshot) Deallocate(pod *demand.Pod, task *api.TaskInfo, standIns ledger.Demand) {
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
	if err := s.Ledger.ReleaseHeld(holder, standIns); err != nil {
		klog.ErrorS(err, "Failed to refund what stands in for the claims of a pod", "pod", klog.KObj(task.Pod))
	}
	for _, claim := range pod.Claims {
		queue, _, charged := s.Ledger.Payer(claim.Part)
		if !charged {
			queue = pod.Queue
		}
		if err := s.Ledger.ReleaseHeld(holder, ledger.Demand{claim.Part}); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim.Object), "pod", klog.KObj(task.Pod))
		}
		if claim.HeldBy(task.Pod) {
			s.retain(queue, task, claim.Part)
		}
	}
}

// releaseCards retains the cards that a pod had when the session began. A pod that was only going to get cards holds none.
func (s *Snapshot) releaseCards(pod *demand.Pod, task *api.TaskInfo) {
	switch {
	case pod.Cards == nil:
	case !pod.Cards.Placed:
		s.UnassignCards(pod)
	case s.Ledger.ListsCards(pod.Queue):
		s.retain(pod.Queue, task, &pod.Cards.Part)
	}
}
