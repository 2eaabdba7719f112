// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// evictable picks devices as if no queue held any. It is created when a node first lacks devices.
type evictable struct {
	once      sync.Once
	allocator *dra.Allocator
	// inUse is a hash of the devices that are in use even then.
	inUse uint64
}

// InVain reports whether a node would lack the devices of a pod even if all pods of all queues were gone. Evictions on
// this node do not help the pod.
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
	effort := state.effort.Node()
	results, err := s.evictable.allocator.Pick(s.searchContext(), node, state.objects(), anything, effort)
	s.remember(state, node, asked, effort, answer{found: results != nil, err: err})
	return err == nil && results == nil
}

// NotEvictable returns a hash of the devices that would be in use even if all pods of all queues were gone.
func (s *Session) NotEvictable() uint64 {
	s.evictable.once.Do(s.openEvictable)
	return s.evictable.inUse
}

// anything accepts all devices.
var anything = dra.Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}

func (s *Session) openEvictable() {
	allocator, _, err := s.pending.Allocator(s.Catalog)
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
	s.evictable.allocator, s.evictable.inUse = allocator, allocator.InUse()
}
