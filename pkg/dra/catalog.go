// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// DeviceID identifies a device in the cluster.
type DeviceID struct {
	Driver, Pool, Device string
}

// String returns driver/pool/device, for messages.
func (id DeviceID) String() string {
	return id.Driver + "/" + id.Pool + "/" + id.Device
}

// PoolID identifies a pool of devices in the cluster.
type PoolID struct {
	Driver, Name string
}

func poolOf(slice *resourceapi.ResourceSlice) PoolID {
	return PoolID{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// Catalog is a snapshot of DeviceClasses and ResourceSlices. It is immutable. A nil Catalog is empty.
type Catalog struct {
	classes map[string]*resourceapi.DeviceClass
	// cards has the card name of each class that has the annotation.
	cards map[string]string
	// extended has the class that offers each extended resource.
	extended map[corev1.ResourceName]string
	// explicit has the extended resources that classes name in their spec.
	explicit map[corev1.ResourceName]bool
	// contested has the classes whose extended resource another class offers.
	contested []Contested
	// devices has the devices of the latest generation of each pool.
	devices map[DeviceID]*resourceapi.Device
	drivers map[string]bool
	pools   map[PoolID]bool
	// capacities has the names of all capacities of all devices, and the drivers that publish them.
	capacities map[resourceapi.QualifiedName][]string
	// ofNode has the slices of a single node, anywhere the slices that several nodes may reach.
	ofNode   map[string][]*resourceapi.ResourceSlice
	anywhere []*resourceapi.ResourceSlice
	// members has whether devices match classes. It is filled when this is asked.
	members sync.Map
	// selectors is what is remembered of the selectors of claims. What has been compiled lately is compiled again if it is asked for after a change.
	selectors knownSelectors
}

// NewCatalog returns a catalog of classes and slices. The caller must not change them afterwards.
func NewCatalog(classes []*resourceapi.DeviceClass, all []*resourceapi.ResourceSlice) *Catalog {
	c := &Catalog{
		classes: map[string]*resourceapi.DeviceClass{}, cards: map[string]string{}, extended: map[corev1.ResourceName]string{}, explicit: map[corev1.ResourceName]bool{},
		devices: map[DeviceID]*resourceapi.Device{}, drivers: map[string]bool{}, pools: map[PoolID]bool{},
		capacities: map[resourceapi.QualifiedName][]string{}, ofNode: map[string][]*resourceapi.ResourceSlice{},
	}
	c.selectors = newKnownSelectors()
	c.addClasses(classes)
	known := make([]*resourceapi.ResourceSlice, len(all))
	for i, slice := range all {
		known[i] = understood(slice)
		c.drivers[slice.Spec.Driver] = true
		c.pools[poolOf(slice)] = true
		for i := range slice.Spec.Devices {
			for name := range slice.Spec.Devices[i].Capacity {
				if !slices.Contains(c.capacities[name], slice.Spec.Driver) {
					c.capacities[name] = append(c.capacities[name], slice.Spec.Driver)
				}
			}
		}
	}
	usable := joined(known)
	for _, slice := range usable {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName != "" {
			c.ofNode[*slice.Spec.NodeName] = append(c.ofNode[*slice.Spec.NodeName], slice)
		} else {
			c.anywhere = append(c.anywhere, slice)
		}
	}
	c.addDevices(usable)
	c.addDevices(known) // also devices that cannot be handed out now may be allocated
	return c
}

// addDevices indexes the devices of a pool's latest generation.
func (c *Catalog) addDevices(slices []*resourceapi.ResourceSlice) {
	latest := map[PoolID]int64{}
	for _, slice := range slices {
		id := poolOf(slice)
		latest[id] = max(latest[id], slice.Spec.Pool.Generation)
	}
	for _, slice := range slices {
		if slice.Spec.Pool.Generation < latest[poolOf(slice)] {
			continue
		}
		for i := range slice.Spec.Devices {
			id := DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name}
			if _, listed := c.devices[id]; !listed {
				c.devices[id] = &slice.Spec.Devices[i]
			}
		}
	}
}

// Device returns a device as its ResourceSlice describes it; false if no slice has it.
func (c *Catalog) Device(id DeviceID) (*resourceapi.Device, bool) {
	if c == nil {
		return nil, false
	}
	device, listed := c.devices[id]
	return device, listed
}

// Devices calls yield for every device of the latest generation of each pool.
func (c *Catalog) Devices(yield func(DeviceID, *resourceapi.Device) bool) {
	if c == nil {
		return
	}
	for id, device := range c.devices {
		if !yield(id, device) {
			return
		}
	}
}

// HasDriver reports whether a driver publishes any ResourceSlice.
func (c *Catalog) HasDriver(name string) bool {
	return c != nil && c.drivers[name]
}

// HasPool reports whether there is a ResourceSlice of a pool.
func (c *Catalog) HasPool(pool PoolID) bool {
	return c != nil && c.pools[pool]
}

// HasCapacity reports whether any device has a capacity of that name.
func (c *Catalog) HasCapacity(name resourceapi.QualifiedName) bool {
	return len(c.publishers(name)) > 0
}

// publishers returns the drivers whose devices have a capacity of exactly that name.
func (c *Catalog) publishers(name resourceapi.QualifiedName) []string {
	if c == nil {
		return nil
	}
	return c.capacities[name]
}

// CapacityOfSeveralDrivers reports whether devices of several drivers have a capacity that a quota without a domain calls
// name.
func (c *Catalog) CapacityOfSeveralDrivers(name string) bool {
	if c == nil {
		return false
	}
	first := ""
	for published, drivers := range c.capacities {
		for _, driver := range drivers {
			if !SameCapacity(driver, string(published), name) || driver == first {
				continue
			}
			if first != "" {
				return true
			}
			first = driver
		}
	}
	return false
}

// PoolsFor calls yield for the pools of which a node may be able to reach devices, for some several times.
func (c *Catalog) PoolsFor(node string, yield func(PoolID)) {
	if c == nil {
		return
	}
	for _, slices := range [][]*resourceapi.ResourceSlice{c.ofNode[node], c.anywhere} {
		for _, slice := range slices {
			yield(poolOf(slice))
		}
	}
}

// slicesFor returns the slices whose devices a node may be able to reach: its own, and those that are not
// bound to a single node.
func (c *Catalog) slicesFor(node string) []*resourceapi.ResourceSlice {
	if len(c.anywhere) == 0 {
		return c.ofNode[node]
	}
	return slices.Concat(c.ofNode[node], c.anywhere)
}
