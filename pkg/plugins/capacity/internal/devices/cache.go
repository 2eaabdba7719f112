// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// maxDeallocations bounds how many claims are deallocated at the same time.
const maxDeallocations = 8

// Cache outlives sessions. It reads resource.k8s.io and has the allocations in flight.
type Cache struct {
	*allocation.Reader
	// pending has the allocations in flight.
	pending *allocation.Pending
	writer  *allocation.Writer

	// ctx ends when the cache is shut down.
	ctx        context.Context
	background errgroup.Group
	// deallocating has the UIDs of the claims whose devices are being taken back.
	deallocating sync.Map
	overlaps     overlapSearch
	memory       memory
}

// Start begins to read. It waits for nothing, see Ready. It adds its informers to those that the scheduler depends on.
// When ctx ends, all reading and writing ends.
func Start(ctx context.Context, kube kubernetes.Interface, depends *readiness.Informers) (*Cache, error) {
	reader, err := allocation.NewReader(ctx, kube, depends)
	if err != nil {
		return nil, err
	}
	pending := allocation.NewPending(reader)
	c := &Cache{Reader: reader, pending: pending, writer: allocation.NewWriter(kube, reader, pending), ctx: ctx}
	c.background.SetLimit(maxDeallocations)
	return c, nil
}

// Shutdown waits for all goroutines of the cache. The context that it was started with must have ended.
func (c *Cache) Shutdown() {
	_ = c.background.Wait() // its functions return no errors
	c.Reader.Shutdown()
}

// unwritten reports whether the API server does not have the allocation that a claim is shown with.
func (c *Cache) unwritten(claim *resourceapi.ResourceClaim) bool {
	now, err := c.Reader.Claim(claim.Namespace, claim.Name)
	return err == nil && now.UID == claim.UID && now.Status.Allocation == nil
}

// latest returns a claim with the allocation that it has got since the session began.
func (c *Cache) latest(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	if claim.Status.Allocation != nil {
		return claim
	}
	if now, err := (ClaimReader{c}).Claim(claim.Namespace, claim.Name); err == nil && now.UID == claim.UID {
		return now
	}
	return claim
}
