// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dra"
)

// versions detects changes in the use of devices. Each pool has a number that grows with every allocation and release of its
// devices. It is safe for concurrent use.
type versions struct {
	mu    sync.RWMutex
	last  uint64
	pools map[dra.PoolID]uint64
}

func newVersions() *versions { return &versions{pools: map[dra.PoolID]uint64{}} }

func (v *versions) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { v.replaced(nil, allocationOf(now)) },
		UpdateFunc: func(before, now any) { v.replaced(allocationOf(before), allocationOf(now)) },
		DeleteFunc: func(before any) { v.replaced(allocationOf(before), nil) },
	}
}

func allocationOf(object any) *resourceapi.AllocationResult {
	if claim, ok := object.(*resourceapi.ResourceClaim); ok {
		return claim.Status.Allocation
	}
	return nil
}

// changed records that the devices of an allocation are now in use, or no longer in use. The allocation may be nil. Call it after
// the change is readable.
func (v *versions) changed(allocation *resourceapi.AllocationResult) {
	if allocation == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last++
	for i := range allocation.Devices.Results {
		device := &allocation.Devices.Results[i]
		v.pools[dra.PoolID{Driver: device.Driver, Name: device.Pool}] = v.last
	}
}

// replaced records that the allocation of a claim has changed. Both allocations may be nil.
func (v *versions) replaced(before, now *resourceapi.AllocationResult) {
	if before != now && !apiequality.Semantic.DeepEqual(before, now) {
		v.changed(before)
		v.changed(now)
	}
}

func (v *versions) latest() uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.last
}

// on returns the latest change in the pools that a node may reach, or zero.
func (v *versions) on(node string, catalog *dra.Catalog) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var latest uint64
	catalog.PoolsFor(node, func(pool dra.PoolID) { latest = max(latest, v.pools[pool]) })
	return latest
}

// keep forgets the pools that a new catalog does not contain. If such a pool returns, the catalog is different as well.
func (v *versions) keep(catalog *dra.Catalog) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.pools, func(pool dra.PoolID, _ uint64) bool { return !catalog.HasPool(pool) })
}
