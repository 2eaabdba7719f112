// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// MostOnNode returns the most devices of a class that one node can reach, no matter which are in use. It is zero if there are none, or if it
// is unlimited, because a device allows multiple allocations.
func (c *Catalog) MostOnNode(ctx context.Context, celCache *cel.Cache, class string) int64 {
	return c.countOf(ctx, celCache, class).most
}

// Published returns the number of devices of a class, no matter which are in use.
func (c *Catalog) Published(ctx context.Context, celCache *cel.Cache, class string) int64 {
	return c.countOf(ctx, celCache, class).all
}

// count is the number of devices of a class: of all, and the most on one node.
type count struct{ all, most int64 }

func (c *Catalog) countOf(ctx context.Context, celCache *cel.Cache, class string) count {
	if c == nil {
		return count{}
	}
	if known, found := c.counts.Load(class); found {
		return known.(count)
	}
	counted := c.count(ctx, celCache, class)
	c.counts.Store(class, counted)
	return counted
}

func (c *Catalog) count(ctx context.Context, celCache *cel.Cache, class string) (n count) {
	if _, exists := c.Class(class); !exists {
		return n
	}
	reader, found, shared := Allocator{catalog: c, celCache: celCache}, newSupplies(), false
	for _, slice := range c.current() {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			if is, err := reader.ofClass(ctx, unused{device, slice.Spec.Driver}, class); err != nil || !is {
				continue
			}
			n.all++
			shared = shared || ptr.Deref(device.AllowMultipleAllocations, false)
			found.add(slice, device, Supply{Total: 1})
		}
	}
	if shared {
		return n
	}
	for _, own := range found.OnNode {
		n.most = max(n.most, own.Total)
	}
	for _, pool := range found.InPool {
		n.most += pool.Total // some node may reach them all
	}
	return n
}
