package allocation

import (
	"fmt"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Pending has the allocations that have been decided on but not been written to the API server
// yet, and the pods that need them. Pods that share such a claim get the same devices. It may
// be used from many goroutines: pods are bound while the next session runs.
type Pending struct {
	reader *Reader

	mu     sync.Mutex
	claims map[types.UID]*pendingClaim
	// written and writtenBefore are claims that were written since the last allocator was made, and
	// since the one before.
	written, writtenBefore []*resourceapi.ResourceClaim
}

type pendingClaim struct {
	claim *resourceapi.ResourceClaim
	// pods are those that need it. True says that the claim is being written for the pod.
	pods map[types.UID]bool
}

// NewPending returns an empty set.
func NewPending(reader *Reader) *Pending {
	return &Pending{reader: reader, claims: map[types.UID]*pendingClaim{}}
}

// Allocator returns an allocator of the devices in a catalog that are not in use now and are not
// about to be.
func (p *Pending) Allocator(catalog *dra.Catalog) (*dra.Allocator, error) {
	// No claim may go from pending to written while the two are put together.
	p.mu.Lock()
	defer p.mu.Unlock()
	allocator, err := p.reader.allocator(catalog)
	if err != nil {
		return nil, err
	}
	// What was written just now may still be on its way through the handlers of the cache.
	for _, claims := range [][]*resourceapi.ResourceClaim{p.written, p.writtenBefore} {
		for _, claim := range claims {
			if now, err := p.reader.Claim(claim.Namespace, claim.Name); err == nil && now.UID == claim.UID && now.Status.Allocation != nil {
				allocator.Take(now.Status.Allocation)
			}
		}
	}
	p.written, p.writtenBefore = nil, p.written
	return allocator, nil
}

// Of returns the claim with the allocation that has been decided on, always the same object;
// nil when there is none.
func (p *Pending) Of(claim types.UID) *resourceapi.ResourceClaim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		return pending.claim
	}
	return nil
}

// Add says that a pod needs the allocation that a claim has, although the API server may not have
// it yet.
func (p *Pending) Add(claim *resourceapi.ResourceClaim, pod types.UID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.claims[claim.UID]
	if pending == nil {
		if err := p.reader.manager.ResourceClaims().SignalClaimPendingAllocation(claim.UID, claim); err != nil {
			return fmt.Errorf("reserve the devices of ResourceClaim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
		pending = &pendingClaim{claim: claim, pods: map[types.UID]bool{}}
		p.claims[claim.UID] = pending
	}
	if _, known := pending.pods[pod]; !known {
		pending.pods[pod] = false
	}
	return nil
}

// Drop says that a pod needs a claim's allocation no more, unless it is being written for the pod.
// It returns the allocation if that was the last pod, so that the devices are free again; else
// nil.
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

// Keep drops all pods that keep is false for, as Drop does.
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

// begin says that a claim is being written for a pod, if it is still pending for it.
func (p *Pending) begin(claim, pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		if _, needs := pending.pods[pod]; needs {
			pending.pods[pod] = true
		}
	}
}

// failed says that a claim could not be written for a pod.
func (p *Pending) failed(claim, pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pending := p.claims[claim]; pending != nil {
		p.drop(pending, pod)
	}
}

// succeeded says that the API server has a claim with its allocation now.
func (p *Pending) succeeded(claim *resourceapi.ResourceClaim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims[claim.UID] != nil {
		p.written = append(p.written, claim)
		p.remove(claim.UID)
	}
}

func (p *Pending) drop(pending *pendingClaim, pod types.UID) *resourceapi.AllocationResult {
	delete(pending.pods, pod)
	if len(pending.pods) > 0 {
		return nil
	}
	p.remove(pending.claim.UID)
	return pending.claim.Status.Allocation
}

func (p *Pending) remove(claim types.UID) {
	delete(p.claims, claim)
	p.reader.manager.ResourceClaims().RemoveClaimPendingAllocation(claim)
}
