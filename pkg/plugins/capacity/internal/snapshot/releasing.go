// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// retain records that a releasing pod still holds its resources, a claim, or cards. The ledger of the session does not charge
// them. Otherwise, preemption would evict one pod after the other for the same room. But nobody gets the room before it is free, see Held:
// whoever deletes pods that take their time to end would have as much again.
func (s *Snapshot) retain(queue ledger.QueueID, task *api.TaskInfo, part *ledger.Part) {
	s.retains = true
	if err := s.Ledger.Retain(queue, HolderOf(task), part); err != nil {
		klog.ErrorS(err, "Failed to charge what a releasing pod holds", "pod", klog.KObj(task.Pod))
	}
}

// forget undoes retain.
func (s *Snapshot) forget(part *ledger.Part) {
	if err := s.Ledger.Forget(part); err != nil {
		klog.ErrorS(err, "Failed to refund what a releasing pod held")
	}
}

// Held returns the ledger with what releasing pods still hold. Pods are allocated for good within its limits only.
func (s *Snapshot) Held() *ledger.Ledger { return s.held }

// Retains reports whether releasing pods still hold something.
func (s *Snapshot) Retains() bool { return s.retains }

// ChargedOrReleasing reports whether a queue is charged for a claim, also if its pod is releasing.
func (s *Snapshot) ChargedOrReleasing(claim *demand.Claim) bool {
	return s.held.Charged(claim.Part)
}
