// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The name of a capacity may contain a domain. A name without a domain belongs to the domain of the device's driver (KEP-4381).
// In a quota, it means the capacity of each device's own driver. ResourceSlices, claims and quotas may use different spellings.

// SameCapacity reports whether two names mean the same capacity of a driver's devices.
func SameCapacity(driver, a, b string) bool {
	domainA, nameA := splitCapacity(driver, a)
	domainB, nameB := splitCapacity(driver, b)
	return nameA == nameB && domainA == domainB
}

// splitCapacity returns the domain and the rest of a capacity's name. domain is the default domain.
func splitCapacity(domain, name string) (string, string) {
	if domain, bare, qualified := strings.Cut(name, "/"); qualified {
		return domain, bare
	}
	return domain, name
}

// CapacityNamed returns how much each device takes of the capacity that a quota calls name. It returns false if the devices
// have no such capacity. If a device has it under two names, the larger amount counts.
func (d *Devices) CapacityNamed(name string, catalog *Catalog) (resource.Quantity, bool) {
	var most resource.Quantity
	found := false
	for published, quantity := range d.Capacity {
		if d.calls(string(published), name, catalog) && (!found || quantity.Cmp(most) > 0) {
			most, found = quantity, true
		}
	}
	return most, found
}

// calls reports whether a published capacity is the capacity that a quota calls name. Before a device is allocated, all drivers
// that publish the name must mean this capacity.
func (d *Devices) calls(published, name string, catalog *Catalog) bool {
	if d.ID.Driver != "" {
		return SameCapacity(d.ID.Driver, published, name)
	}
	drivers := catalog.publishers(resourceapi.QualifiedName(published))
	for _, driver := range drivers {
		if !SameCapacity(driver, published, name) {
			return false
		}
	}
	return len(drivers) > 0 || maySame(published, name)
}

// maySame reports whether two names mean the same capacity for some driver.
func maySame(a, b string) bool {
	domainA, nameA := splitCapacity("", a)
	domainB, nameB := splitCapacity("", b)
	return nameA == nameB && (domainA == domainB || domainA == "" || domainB == "")
}

// LacksCapacity reports whether an allocated device lacks a capacity in a quota, so it cannot be counted. A device need not
// have the capacities of other drivers. If no driver has the domain in the name, the device still lacks the capacity, because
// the name may be misspelled.
func (d *Devices) LacksCapacity(name string, catalog *Catalog) bool {
	if _, has := d.CapacityNamed(name, catalog); has {
		return false
	}
	domain, _, qualified := strings.Cut(name, "/")
	return !qualified || domain == d.ID.Driver || !catalog.HasDriver(domain)
}
