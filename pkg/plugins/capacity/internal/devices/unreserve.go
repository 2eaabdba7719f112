// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
)

// Unreserve puts back devices that Reserve took for a pod, unless other pods need them. It also undoes Promise.
func (s *Session) Unreserve(pod *demand.Pod) {
	s.withdraw(pod)
	for _, claim := range pod.Claims {
		allocation := s.pending.Drop(claim.Object.UID, pod.Object.UID)
		if allocation == nil || !s.unwritten(claim.Object) {
			continue // other pods need it, or it was written for one of them
		}
		if s.allocator != nil {
			s.allocator.PutBack(allocation)
		}
		if err := claim.Unassign(s.Ledger); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim.Object))
		}
	}
}

// UnreserveUnbound puts back, when a session closes, the devices reserved for pods that are not being bound. Upstream neither binds nor
// undoes a gang that is only pipelined: it keeps the devices reserved until the scheduler restarts (volcano pull requests 5103 and 5884).
func (c *Cache) UnreserveUnbound(binding func(pod types.UID) bool) {
	c.pending.Keep(binding)
}
