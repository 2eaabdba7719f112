// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// evictable picks devices as if no queue held any. It is made when a node first lacks devices.
type evictable struct {
	once      sync.Once
	allocator *dra.Allocator
}

// InVain reports whether a node would lack the devices of a pod even if all pods of all queues were gone. To evict pods
// there for this pod is in vain.
func (s *Session) InVain(state *State, node *corev1.Node) bool {
	if len(state.unallocated) == 0 {
		return false
	}
	s.evictable.once.Do(s.openEvictable)
	if s.evictable.allocator == nil {
		return false
	}
	ctx, done := s.pickContext(state)
	defer done()
	results, err := s.evictable.allocator.Pick(ctx, node, state.objects(), anything, state.effort)
	return err == nil && results == nil
}

// anything accepts all devices.
var anything = dra.Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}

func (s *Session) openEvictable() {
	allocator, err := s.pending.Allocator(s.Catalog)
	if err != nil {
		klog.ErrorS(err, "Failed to find out which devices evictions make free")
		return
	}
	for claim := range s.Config.Claims.All {
		if !s.Attributed(claim.Object.UID) {
			continue
		}
		if allocation := s.latest(claim.Object).Status.Allocation; allocation != nil {
			allocator.PutBack(allocation)
		}
	}
	s.evictable.allocator = allocator
}
