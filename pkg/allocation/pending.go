// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Pending holds the allocations that are decided but not yet written to the API server, and the pods that need them. Pods that share a
// pending claim get the same devices. Pending is safe for concurrent use, because pods are bound while the next session runs.
type Pending struct {
	reader *Reader

	mu     sync.Mutex
	claims map[types.UID]*pendingClaim
	// extended holds the pending extended claims that exist only in memory, by the UID of their pod.
	extended map[types.UID]*pendingClaim
}

type pendingClaim struct {
	claim *resourceapi.ResourceClaim
	// pods holds the pods that need the claim. The value is true while the claim is written for the pod.
	pods map[types.UID]bool
}

// NewPending returns an empty set for the claims of a reader.
func NewPending(reader *Reader) *Pending {
	return &Pending{reader: reader, claims: map[types.UID]*pendingClaim{}, extended: map[types.UID]*pendingClaim{}}
}

// Allocator returns an allocator for the devices in a catalog. Devices of allocated and pending claims are in use. Allocator also returns the
// allocated claims.
func (p *Pending) Allocator(catalog *dra.Catalog) (*dra.Allocator, []*resourceapi.ResourceClaim, error) {
	// A claim must not change from pending to written between the two reads.
	p.mu.Lock()
	defer p.mu.Unlock()
	claims, err := p.reader.Allocated()
	if err != nil {
		return nil, nil, fmt.Errorf("list the devices in use: %w", err)
	}
	allocator := p.reader.allocator(catalog)
	for _, claim := range claims {
		allocator.Take(claim.Status.Allocation)
	}
	for _, pending := range p.claims {
		allocator.Take(pending.claim.Status.Allocation)
	}
	return allocator, claims, nil
}

// Of returns the claim with its pending allocation, or nil. It always returns the same object.
func (p *Pending) Of(claim types.UID) *resourceapi.ResourceClaim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		return pending.claim
	}
	return nil
}

// ExtendedOf returns the pending extended claim of a pod, with its allocation, or nil.
func (p *Pending) ExtendedOf(pod types.UID) *resourceapi.ResourceClaim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.extended[pod]; pending != nil {
		return pending.claim
	}
	return nil
}

// Add records that a pod needs the allocation in a claim, which may not exist in the API server yet. If the claim is already
// pending, it keeps its allocation.
func (p *Pending) Add(claim *resourceapi.ResourceClaim, pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.claims[claim.UID]
	if pending == nil {
		pending = &pendingClaim{claim: claim, pods: map[types.UID]bool{}}
		p.claims[claim.UID] = pending
		if dra.InMemory(claim) {
			p.extended[pod] = pending
		}
		p.reader.versions.changed(claim.Status.Allocation)
	}
	if _, known := pending.pods[pod]; !known {
		pending.pods[pod] = false
	}
}

// Drop records that a pod no longer needs a claim's allocation. It does nothing while the claim is written for the pod. If no
// other pod needs the allocation, Drop frees the devices and returns the allocation. Otherwise, it returns nil.
func (p *Pending) Drop(claim, pod types.UID) *resourceapi.AllocationResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.claims[claim]
	if pending == nil {
		return nil
	}
	if writing, needs := pending.pods[pod]; !needs || writing {
		return nil
	}
	return p.drop(pending, pod)
}

// Keep drops all pods for which keep returns false, like Drop.
func (p *Pending) Keep(keep func(pod types.UID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pending := range p.claims {
		for pod, writing := range pending.pods {
			if !writing && !keep(pod) {
				p.drop(pending, pod)
			}
		}
	}
}

// begin records that a claim is being written for a pod, if the pod still needs the pending claim.
func (p *Pending) begin(claim, pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		if _, needs := pending.pods[pod]; needs {
			pending.pods[pod] = true
		}
	}
}

// mayWrite reports whether an allocation is still pending and is being written for the pod. Otherwise, its devices were given
// up, and other pods may already have them.
func (p *Pending) mayWrite(claim *resourceapi.ResourceClaim, pod types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.claims[claim.UID]
	return pending != nil && pending.claim.Status.Allocation == claim.Status.Allocation && pending.pods[pod]
}

// failed records that a claim could not be written for a pod.
func (p *Pending) failed(claim, pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		p.drop(pending, pod)
	}
}

// succeeded records that the API server has a claim with its allocation.
func (p *Pending) succeeded(claim types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		p.remove(pending)
		// The claim may have been deallocated or deleted right after it was written.
		p.reader.versions.changed(pending.claim.Status.Allocation)
	}
}

func (p *Pending) drop(pending *pendingClaim, pod types.UID) *resourceapi.AllocationResult {
	delete(pending.pods, pod)
	if len(pending.pods) > 0 {
		return nil
	}
	p.remove(pending)
	p.reader.versions.changed(pending.claim.Status.Allocation)
	return pending.claim.Status.Allocation
}

func (p *Pending) remove(pending *pendingClaim) {
	delete(p.claims, pending.claim.UID)
	if owner := metav1.GetControllerOf(pending.claim); owner != nil && p.extended[owner.UID] == pending {
		delete(p.extended, owner.UID)
	}
}
