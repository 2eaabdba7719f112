// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// Supply counts devices of one class in one place.
type Supply struct {
	Total int64
	// Free are in use by nobody, and nothing keeps them from being allocated.
	Free int64
	// Shared are in use, and may be allocated to others as well, as far as their capacities go.
	Shared int64
	// Tainted would be free, but for a taint that pods must tolerate.
	Tainted int64
}

// Supplies are the devices of one class.
type Supplies struct {
	// OnNode has the devices that a single node reaches, InPool those that several nodes may reach.
	OnNode map[string]Supply
	InPool map[PoolID]Supply
}

// Supplies counts the devices of a class that complete pools publish. A partition whose counters others have used up is not free.
func (a *Allocator) Supplies(ctx context.Context, class string) Supplies {
	found := Supplies{OnNode: map[string]Supply{}, InPool: map[PoolID]Supply{}}
	if _, exists := a.catalog.Class(class); !exists {
		return found
	}
	for slice := range a.catalog.current() {
		var left remaining
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			is, err := a.ofClass(ctx, unused{device, slice.Spec.Driver}, class)
			if err != nil || !is {
				continue // a device that a selector cannot be evaluated for is never allocated through the class
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

// supply says in which state a device is.
func (a *Allocator) supply(slice *resourceapi.ResourceSlice, device *resourceapi.Device, left remaining) Supply {
	one := Supply{Total: 1}
	id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
	_, shares := a.taken.AggregatedCapacity[id]
	switch {
	case a.taken.AllocatedDevices.Has(id):
	case shares:
		one.Shared = 1
	case !left.enoughFor(device):
	case a.isTainted(device):
		one.Tainted = 1
	default:
		one.Free = 1
	}
	return one
}

func (a *Allocator) isTainted(device *resourceapi.Device) bool {
	if !a.features.DeviceTaints {
		return false
	}
	for i := range device.Taints {
		if effect := device.Taints[i].Effect; effect == resourceapi.DeviceTaintEffectNoSchedule || effect == resourceapi.DeviceTaintEffectNoExecute {
			return true
		}
	}
	return false
}

// remaining has what is left of the counters of each set of a slice.
type remaining map[string]map[string]resource.Quantity

// countersOf returns the counters of a slice of which nothing is consumed.
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

// countersLeft returns what the devices that are in use leave of the counters of a slice.
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
