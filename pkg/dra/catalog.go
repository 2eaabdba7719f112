// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/card"
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
	// devices has the devices of the latest generation of each pool.
	devices map[DeviceID]*resourceapi.Device
	drivers map[string]bool
	pools   map[PoolID]bool
	// capacities has the names of all capacities of all devices.
	capacities map[resourceapi.QualifiedName]bool
	// ofNode has the slices of a single node, anywhere the slices that several nodes may reach.
	ofNode   map[string][]*resourceapi.ResourceSlice
	anywhere []*resourceapi.ResourceSlice
	// members has whether devices match classes. It is filled when this is asked.
	members sync.Map
}

// NewCatalog returns a catalog of classes and slices. The caller must not change them afterwards.
func NewCatalog(classes []*resourceapi.DeviceClass, all []*resourceapi.ResourceSlice) *Catalog {
	c := &Catalog{
		classes: map[string]*resourceapi.DeviceClass{}, cards: map[string]string{}, extended: map[corev1.ResourceName]string{},
		devices: map[DeviceID]*resourceapi.Device{}, drivers: map[string]bool{}, pools: map[PoolID]bool{},
		capacities: map[resourceapi.QualifiedName]bool{}, ofNode: map[string][]*resourceapi.ResourceSlice{},
	}
	c.addClasses(classes)
	for _, slice := range all {
		c.drivers[slice.Spec.Driver] = true
		c.pools[poolOf(slice)] = true
		for i := range slice.Spec.Devices {
			for name := range slice.Spec.Devices[i].Capacity {
				c.capacities[name] = true
			}
		}
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName != "" {
			c.ofNode[*slice.Spec.NodeName] = append(c.ofNode[*slice.Spec.NodeName], slice)
		} else {
			c.anywhere = append(c.anywhere, slice)
		}
	}
	c.addDevices(all)
	return c
}

// addClasses follows KEP-5004: if several classes offer the same extended resource, the newest one wins;
// if they are equally old, the first by name wins.
func (c *Catalog) addClasses(classes []*resourceapi.DeviceClass) {
	ordered := slices.SortedFunc(slices.Values(classes), func(a, b *resourceapi.DeviceClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, class := range ordered {
		c.classes[class.Name] = class
		if name := class.Annotations[card.NameAnnotation]; name != "" {
			c.cards[class.Name] = name
		}
		c.extended[corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix+class.Name)] = class.Name
		if class.Spec.ExtendedResourceName == nil {
			continue
		}
		name := corev1.ResourceName(*class.Spec.ExtendedResourceName)
		if _, taken := c.extended[name]; !taken {
			c.extended[name] = class.Name
		}
	}
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

// Class returns the DeviceClass of that name; false if there is none.
func (c *Catalog) Class(name string) (*resourceapi.DeviceClass, bool) {
	if c == nil {
		return nil, false
	}
	class, found := c.classes[name]
	return class, found
}

// Classes calls yield for the name of every DeviceClass.
func (c *Catalog) Classes(yield func(string) bool) {
	if c == nil {
		return
	}
	for name := range c.classes {
		if !yield(name) {
			return
		}
	}
}

// Card returns the card name of a class's devices; empty if the class has no such annotation.
func (c *Catalog) Card(class string) string {
	if c == nil {
		return ""
	}
	return c.cards[class]
}

// HasCard reports whether a class has devices of that card name.
func (c *Catalog) HasCard(card string) bool {
	if c == nil {
		return false
	}
	for _, name := range c.cards {
		if name == card {
			return true
		}
	}
	return false
}

// Cards calls yield for each class that names a card.
func (c *Catalog) Cards(yield func(class, card string) bool) {
	if c == nil {
		return
	}
	for class, name := range c.cards {
		if !yield(class, name) {
			return
		}
	}
}

// SameCards reports whether two catalogs have the same card names for all classes. It is false if either
// is nil.
func (c *Catalog) SameCards(other *Catalog) bool {
	return c != nil && other != nil && maps.Equal(c.cards, other.cards)
}

// Extended returns the class that offers an extended resource (KEP-5004); false if there is none.
func (c *Catalog) Extended(name corev1.ResourceName) (string, bool) {
	if c == nil {
		return "", false
	}
	class, found := c.extended[name]
	return class, found
}

// Device returns a device as its ResourceSlice describes it; false if no slice has it.
func (c *Catalog) Device(id DeviceID) (*resourceapi.Device, bool) {
	if c == nil {
		return nil, false
	}
	device, listed := c.devices[id]
	return device, listed
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
	return c != nil && c.capacities[name]
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
