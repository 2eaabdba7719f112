// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// evictable picks devices as if no queue held any. It is made when a node first lacks devices.
type evictable struct {
	once      sync.Once
	allocator *dra.Allocator
	// edition is that of the claims whose devices are free here and not in the session.
	edition int
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
	asked := question{node: node.Name, evictions: true}
	if known := s.recall(state, node, asked); known != nil {
		return known.err == nil && !known.found
	}
	ctx, done := s.pickContext(state)
	defer done()
	effort := state.effort.Node()
	results, err := s.evictable.allocator.Pick(ctx, node, state.objects(), anything, effort)
	s.remember(state, node, asked, effort, answer{found: results != nil, err: err})
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
	free := map[types.UID]bool{}
	for claim := range s.Config.Claims.All {
		if !s.Attributed(claim.Object.UID) {
			continue
		}
		if allocation := s.latest(claim.Object).Status.Allocation; allocation != nil {
			allocator.PutBack(allocation)
			free[claim.Object.UID] = true
		}
	}
	s.evictable.allocator, s.evictable.edition = allocator, s.memory.editionOf(free)
}
