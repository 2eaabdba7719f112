// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// Supply counts devices of one class in one place.
type Supply struct {
	Total int64
	// Free devices are not in use and can be allocated.
	Free int64
	// Shared devices are in use, but can also be allocated to other claims, as far as their capacities allow.
	Shared int64
	// Tainted devices are free, except for a taint that pods must tolerate.
	Tainted int64
}

// Supplies are the devices of one class.
type Supplies struct {
	// OnNode holds the devices that a single node reaches. InPool holds the devices that several nodes may reach.
	OnNode map[string]Supply
	InPool map[PoolID]Supply
}

func newSupplies() Supplies {
	return Supplies{OnNode: map[string]Supply{}, InPool: map[PoolID]Supply{}}
}

// Supplies counts the devices of a class in complete pools. A partition is not free if other partitions have used up its counters.
func (a *Allocator) Supplies(ctx context.Context, class string) Supplies {
	found := newSupplies()
	if _, exists := a.catalog.Class(class); !exists {
		return found
	}
	for _, slice := range a.catalog.current() {
		var left remaining
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			is, err := a.ofClass(ctx, unused{device, slice.Spec.Driver}, class)
			if err != nil || !is {
				continue // a device is never allocated through a class with a failing selector
			}
			if left == nil && len(device.ConsumesCounters) > 0 {
				left = a.countersLeft(slice)
			}
			found.add(slice, device, a.supply(slice, device, left))
		}
	}
	return found
}

func (s *Supplies) add(slice *resourceapi.ResourceSlice, device *resourceapi.Device, one Supply) {
	node := ptr.Deref(slice.Spec.NodeName, "")
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		node = ptr.Deref(device.NodeName, "")
	}
	if node != "" {
		s.OnNode[node] = s.OnNode[node].plus(one)
	} else {
		s.InPool[poolOf(slice)] = s.InPool[poolOf(slice)].plus(one)
	}
}

func (s Supply) plus(other Supply) Supply {
	return Supply{s.Total + other.Total, s.Free + other.Free, s.Shared + other.Shared, s.Tainted + other.Tainted}
}

func (a *Allocator) supply(slice *resourceapi.ResourceSlice, device *resourceapi.Device, left remaining) Supply {
	one := Supply{Total: 1}
	id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
	_, shares := a.taken.AggregatedCapacity[id]
	switch {
	case a.taken.AllocatedDevices.Has(id):
	case shares:
		one.Shared = 1
	case !left.enoughFor(device):
	case a.features.DeviceTaints && slices.ContainsFunc(device.Taints, hasEffect):
		one.Tainted = 1
	default:
		one.Free = 1
	}
	return one
}

// remaining holds the rest of the counters of each set in a slice.
type remaining map[string]map[string]resource.Quantity

func countersOf(slice *resourceapi.ResourceSlice) remaining {
	all := remaining{}
	for _, set := range slice.Spec.SharedCounters {
		all[set.Name] = map[string]resource.Quantity{}
		for name, counter := range set.Counters {
			all[set.Name][name] = counter.Value.DeepCopy()
		}
	}
	return all
}

// countersLeft returns the counters of a slice that the devices in use leave.
func (a *Allocator) countersLeft(slice *resourceapi.ResourceSlice) remaining {
	left := countersOf(slice)
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
		if _, shares := a.taken.AggregatedCapacity[id]; shares || a.taken.AllocatedDevices.Has(id) {
			left.consume(device)
		}
	}
	return left
}

func (c remaining) consume(device *resourceapi.Device) {
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			if rest, has := c[consumed.CounterSet][name]; has {
				rest.Sub(counter.Value)
				c[consumed.CounterSet][name] = rest
			}
		}
	}
}

func (c remaining) enoughFor(device *resourceapi.Device) bool {
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			if rest, has := c[consumed.CounterSet][name]; !has || rest.Cmp(counter.Value) < 0 {
				return false
			}
		}
	}
	return true
}
