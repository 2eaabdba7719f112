package allocation

import (
	"fmt"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pending has the allocations that have been decided on but not been written to the API server
// yet, and the pods that need them. Pods that share such a claim get the same devices. It may
// be used from many goroutines: pods are bound while the next session runs.
type Pending struct {
	reader *Reader

	mu     sync.Mutex
	claims map[types.UID]*pendingClaim
}

type pendingClaim struct {
	claim *resourceapi.ResourceClaim
	pods  map[types.UID]bool
}

// NewPending returns an empty set.
func NewPending(reader *Reader) *Pending {
	return &Pending{reader: reader, claims: map[types.UID]*pendingClaim{}}
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
	pending.pods[pod] = true
	return nil
}

// Drop says that a pod needs a claim's allocation no more. It returns the allocation if that was
// the last pod, so that the devices are free again; else nil.
func (p *Pending) Drop(claim, pod types.UID) *resourceapi.AllocationResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.claims[claim]
	if pending == nil || !pending.pods[pod] {
		return nil
	}
	delete(pending.pods, pod)
	if len(pending.pods) > 0 {
		return nil
	}
	p.remove(claim)
	return pending.claim.Status.Allocation
}

// Written says that the API server has a claim with its allocation now.
func (p *Pending) Written(claim types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(claim)
}

func (p *Pending) remove(claim types.UID) {
	delete(p.claims, claim)
	p.reader.manager.ResourceClaims().RemoveClaimPendingAllocation(claim)
}
