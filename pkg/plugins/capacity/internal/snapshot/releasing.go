// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// retain records that a releasing pod still holds a claim or cards. The ledger of the session does not charge
// them. Otherwise, preemption would evict one pod after the other for the same devices. But nobody gets the devices
// before they are free: see Held.
func (s *Snapshot) retain(queue ledger.QueueID, task *api.TaskInfo, part *ledger.Part) {
	if err := s.Ledger.Retain(queue, HolderOf(task), part); err != nil {
		klog.ErrorS(err, "Failed to charge what a releasing pod holds", "pod", klog.KObj(task.Pod))
	}
}

// retainClaim records that a releasing pod still holds a claim, which a queue is charged for, and, if that is for its extended resources,
// these. Otherwise, whoever deletes a pod that takes its time to end gets as much again.
func (s *Snapshot) retainClaim(queue ledger.QueueID, pod *demand.Pod, task *api.TaskInfo, claim *demand.Claim) {
	for _, part := range pod.HeldWith(claim) {
		s.retain(queue, task, part)
	}
}

// forget undoes retain.
func (s *Snapshot) forget(part *ledger.Part) {
	if err := s.Ledger.Forget(part); err != nil {
		klog.ErrorS(err, "Failed to refund what a releasing pod held")
	}
}

// Held returns the ledger with what releasing pods still hold. Devices and cards are allocated for good within
// its limits only.
func (s *Snapshot) Held() *ledger.Ledger { return s.held }

// ChargedOrReleasing reports whether a queue is charged for a claim, also if its pod is releasing.
func (s *Snapshot) ChargedOrReleasing(claim *demand.Claim) bool {
	return s.held.Charged(claim.Part)
}
