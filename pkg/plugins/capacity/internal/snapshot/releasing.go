// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// retain records that a releasing pod still holds resources, a claim, or cards. The session's ledger does not charge them: otherwise,
// preemption would evict one pod after the other for the same room. The held ledger does (see Held), and no pod gets the room before it is
// free. Otherwise, users could double their usage by deleting pods that end slowly.
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

// Held returns the ledger that includes what releasing pods still hold. Pods are allocated permanently only within its limits.
func (s *Snapshot) Held() *ledger.Ledger { return s.held }

// Retains reports whether releasing pods still hold something.
func (s *Snapshot) Retains() bool { return s.retains }

// ChargedOrReleasing reports whether a queue is charged for a claim, even if the pod of the claim is releasing.
func (s *Snapshot) ChargedOrReleasing(claim *demand.Claim) bool {
	return s.held.Charged(claim.Part)
}
