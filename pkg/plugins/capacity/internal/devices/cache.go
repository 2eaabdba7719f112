// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"golang.org/x/sync/errgroup"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// maxDeallocations is the maximum number of claims that are deallocated at the same time. Claims beyond it wait for another session, and a gang may have hundreds.
const maxDeallocations = 100

// Cache outlives sessions. It reads resource.k8s.io and tracks the allocations in flight.
type Cache struct {
	*allocation.Reader
	// pending are the allocations in flight.
	pending *allocation.Pending
	writer  *allocation.Writer
	// conditions waits until devices are ready.
	conditions *allocation.BindingConditions

	// ctx ends when the cache is shut down.
	ctx        context.Context
	background errgroup.Group
	// deallocating has the UIDs of claims whose devices are being taken back.
	deallocating sync.Map
	// idle has the claims that lose their devices if they still have them after a while, see DeallocateIdle.
	idle  idleClaims
	clock clock.PassiveClock
	// finished has finished pods for the worker that deletes their claims.
	finished workqueue.TypedRateLimitingInterface[finishedPod]
	worker   sync.WaitGroup
	overlaps overlapSearch
	memory   memory
	// budget is the search budget of the last session. It is nil before the first session.
	budget *dra.Budget
}

// Start starts to read. It does not block, see Ready. It adds its informers to those that the scheduler depends on.
// When ctx ends, all reading and writing ends. The pods are the scheduler's.
func Start(ctx context.Context, kube kubernetes.Interface, depends *readiness.Informers, pods coreinformers.PodInformer, clock clock.Clock) (*Cache, error) {
	reader, err := allocation.NewReader(ctx, kube, depends, pods)
	if err != nil {
		return nil, err
	}
	conditions, err := allocation.NewBindingConditions(reader, pods, clock)
	if err != nil {
		return nil, err
	}
	pending := allocation.NewPending(reader)
	c := &Cache{
		Reader: reader, pending: pending, writer: allocation.NewWriter(kube, reader, pending, clock), conditions: conditions, ctx: ctx, finished: newFinished(),
		clock: clock,
	}
	c.background.SetLimit(maxDeallocations)
	c.worker.Go(c.releaseFinished)
	return c, nil
}

// Shutdown waits for all goroutines of the cache. The context passed to Start must have ended.
func (c *Cache) Shutdown() {
	_ = c.background.Wait() // its functions return no errors
	c.worker.Wait()
	c.Reader.Shutdown()
}

// unwritten reports whether the allocation of a claim is missing in the API server.
func (c *Cache) unwritten(claim *resourceapi.ResourceClaim) bool {
	if dra.InMemory(claim) {
		created := c.created(claim)
		return created == nil || created.Status.Allocation == nil
	}
	now, err := c.Reader.Claim(claim.Namespace, claim.Name)
	return err == nil && now.UID == claim.UID && now.Status.Allocation == nil
}

// latest returns a claim with the allocation that it got since the session began.
func (c *Cache) latest(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	if claim.Status.Allocation != nil {
		return claim
	}
	if dra.InMemory(claim) {
		if pending := c.pending.Of(claim.UID); pending != nil {
			return pending
		}
		return claim
	}
	if now, err := (ClaimReader{c}).Claim(claim.Namespace, claim.Name); err == nil && now.UID == claim.UID {
		return now
	}
	return claim
}

// created returns the API server's version of an in-memory extended claim, nil if there is none.
func (c *Cache) created(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	owner := metav1.GetControllerOf(claim)
	if owner == nil {
		return nil
	}
	return c.Reader.ExtendedClaim(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: owner.Name, UID: owner.UID}})
}
