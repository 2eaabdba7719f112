// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
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
	// cards maps classes with the annotation to their card names.
	cards map[string]string
	// extended maps each extended resource to the class that offers it.
	extended map[corev1.ResourceName]string
	// explicit holds the extended resources in the specs of classes.
	explicit map[corev1.ResourceName]bool
	// contested holds the classes whose extended resource another class offers.
	contested []Contested
	// devices holds the devices of the latest generation of each pool.
	devices map[DeviceID]*resourceapi.Device
	drivers map[string]bool
	pools   map[PoolID]bool
	// capacities maps the names of all capacities to the drivers that publish them.
	capacities map[resourceapi.QualifiedName][]string
	// ofNode holds the slices of single nodes. anywhere holds the slices that several nodes may reach.
	ofNode   map[string][]*resourceapi.ResourceSlice
	anywhere []*resourceapi.ResourceSlice
	// shared describes the devices of slices that several nodes may reach.
	shared func() map[DeviceID]string
	// partitioned says that some devices consume counters.
	partitioned bool
	// counts caches the number of devices by class.
	counts sync.Map
	// members caches whether each device matches classes.
	members map[*resourceapi.Device]*membership
	// selectors caches data about the selectors of claims. After a change, recently compiled selectors are compiled again on demand.
	selectors knownSelectors
}

// NewCatalog returns a catalog of classes and slices. Callers must not change them afterwards.
func NewCatalog(classes []*resourceapi.DeviceClass, all []*resourceapi.ResourceSlice) *Catalog {
	c := &Catalog{
		classes: map[string]*resourceapi.DeviceClass{}, cards: map[string]string{}, extended: map[corev1.ResourceName]string{}, explicit: map[corev1.ResourceName]bool{},
		devices: map[DeviceID]*resourceapi.Device{}, drivers: map[string]bool{}, pools: map[PoolID]bool{},
		capacities: map[resourceapi.QualifiedName][]string{}, ofNode: map[string][]*resourceapi.ResourceSlice{}, members: map[*resourceapi.Device]*membership{},
		selectors: knownSelectors{words: lru.New(maxKnownSelectors), compiled: lru.New(compiledLately), claims: lru.New(maxKnownClaims)},
	}
	c.addClasses(classes)
	known := make([]*resourceapi.ResourceSlice, len(all))
	for i, slice := range all {
		known[i] = understood(slice)
		c.drivers[slice.Spec.Driver] = true
		c.pools[poolOf(slice)] = true
		for i := range slice.Spec.Devices {
			c.partitioned = c.partitioned || len(slice.Spec.Devices[i].ConsumesCounters) > 0
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
	c.shared = sync.OnceValue(c.describeShared)
	c.addDevices(usable)
	c.addDevices(known) // an allocated device may be unavailable for new allocations
	return c
}

// Inherit takes over what an earlier catalog knows of devices that are the same objects, if no class has changed. Call it before the catalog is used.
func (c *Catalog) Inherit(before *Catalog) {
	if before == nil || !maps.Equal(c.classes, before.classes) {
		return
	}
	for device := range c.members {
		if known := before.members[device]; known != nil {
			c.members[device] = known
		}
	}
}

// addDevices indexes the devices of the latest generation of each pool.
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
				c.devices[id], c.members[&slice.Spec.Devices[i]] = &slice.Spec.Devices[i], &membership{}
			}
		}
	}
}

// Device returns a device from its ResourceSlice. It returns false if no slice lists it.
func (c *Catalog) Device(id DeviceID) (*resourceapi.Device, bool) {
	if c == nil {
		return nil, false
	}
	device, listed := c.devices[id]
	return device, listed
}

// Devices calls yield for every device of the latest generation of each pool.
func (c *Catalog) Devices(yield func(DeviceID, *resourceapi.Device) bool) {
	if c != nil {
		maps.All(c.devices)(yield)
	}
}

// HasDriver reports whether a driver publishes any ResourceSlice.
func (c *Catalog) HasDriver(name string) bool {
	return c != nil && c.drivers[name]
}

// HasPool reports whether a pool has a ResourceSlice.
func (c *Catalog) HasPool(pool PoolID) bool {
	return c != nil && c.pools[pool]
}

// HasCapacity reports whether any device has a capacity with this name.
func (c *Catalog) HasCapacity(name resourceapi.QualifiedName) bool {
	return len(c.publishers(name)) > 0
}

// publishers returns the drivers whose devices have a capacity with exactly this name.
func (c *Catalog) publishers(name resourceapi.QualifiedName) []string {
	if c == nil {
		return nil
	}
	return c.capacities[name]
}

// CapacityOfSeveralDrivers reports whether devices of several drivers have the capacity that a quota calls name, without a domain.
func (c *Catalog) CapacityOfSeveralDrivers(name string) bool {
	if c == nil {
		return false
	}
	publishing := map[string]bool{}
	for published, drivers := range c.capacities {
		for _, driver := range drivers {
			if SameCapacity(driver, string(published), name) {
				publishing[driver] = true
			}
		}
	}
	return len(publishing) > 1
}

// PoolsFor calls yield for the pools with devices that a node may reach. It may yield a pool several times.
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

// NodesShareNothing reports whether each device can be reached from one node at most.
func (c *Catalog) NodesShareNothing() bool { return c == nil || len(c.anywhere) == 0 }

// Shared describes a device that several nodes may reach. Devices with the same description can replace one another on all nodes. It is empty for a device of
// one node.
func (c *Catalog) Shared(id DeviceID) string {
	if c.NodesShareNothing() {
		return ""
	}
	return c.shared()[id]
}

func (c *Catalog) describeShared() map[DeviceID]string {
	descriptions := map[DeviceID]string{}
	for _, slice := range c.anywhere {
		for i := range slice.Spec.Devices {
			device, spec := slice.Spec.Devices[i], slice.Spec
			id := DeviceID{spec.Driver, spec.Pool.Name, device.Name}
			if !ptr.Deref(device.AllowMultipleAllocations, false) { // others may consume different amounts of two shareable devices
				device.Name = ""
			}
			spec.Devices = []resourceapi.Device{device}
			text, err := spec.Marshal()
			if err != nil { // unexpected
				text = []byte(id.String())
			}
			descriptions[id] = string(text)
		}
	}
	return descriptions
}

// AnySuits reports whether claims like this one can have as many devices, whichever of the suitable ones each of them gets.
func (c *Catalog) AnySuits(claim *resourceapi.ResourceClaim) bool {
	devices := &claim.Spec.Devices
	return len(devices.Requests) == 1 && devices.Requests[0].Exactly != nil && len(devices.Constraints) == 0 && !c.partitioned && c.NodesShareNothing()
}

// slicesFor returns the slices with devices that a node may reach: its own slices, and slices not bound to a single node.
func (c *Catalog) slicesFor(node string) []*resourceapi.ResourceSlice {
	if len(c.anywhere) == 0 {
		return c.ofNode[node]
	}
	return slices.Concat(c.ofNode[node], c.anywhere)
}
