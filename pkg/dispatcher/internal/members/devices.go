// SPDX-License-Identifier: Apache-2.0

package members

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// deviceCount counts the devices of a member. A device is one of each class that it matches, so that a device that a claim has through one
// class is free for no other. Devices that exclude each other (KEP-4815) and devices with taints count as free.
type deviceCount struct {
	matcher *dra.Matcher
	catalog *dra.Catalog
	classes map[string]bool
	shared  map[string]bool
	amounts figures
	// claims has what each claim adds to the amounts, by namespace/name.
	claims map[string]figures
}

func newDeviceCount() *deviceCount {
	return &deviceCount{
		matcher: dra.NewMatcher(cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})), catalog: dra.NewCatalog(nil, nil),
		claims: map[string]figures{}, amounts: figures{}, classes: map[string]bool{}, shared: map[string]bool{},
	}
}

// use counts all devices anew. Names are the classes that matter besides those that name a card.
func (c *deviceCount) use(catalog *dra.Catalog, names []string, claims map[string]*resourceapi.ResourceClaim) {
	c.catalog, c.classes, c.shared, c.amounts, c.claims = catalog, map[string]bool{}, map[string]bool{}, figures{}, map[string]figures{}
	for _, name := range names {
		c.classes[name] = true
	}
	for class := range catalog.Cards {
		c.classes[class] = true
	}
	c.matcher.Use(catalog, slices.Sorted(maps.Keys(c.classes)))
	for id, device := range catalog.Devices {
		classes := c.matcher.Matching(id, device)
		if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
			for _, class := range classes {
				c.shared[class] = true
			}
		}
		for d, amount := range c.amountsOf(id.Driver, classes, device, nil) {
			c.amounts.plus(d, amount, ledger.Amount{})
		}
	}
	for key, claim := range claims {
		c.set(key, claim)
	}
}

// set replaces what a claim adds to the amounts. The claim is nil if it is gone.
func (c *deviceCount) set(key string, claim *resourceapi.ResourceClaim) {
	for d, f := range c.claims[key] {
		c.amounts.minus(d, f)
	}
	delete(c.claims, key)
	if claim == nil || claim.Status.Allocation == nil {
		return
	}
	counted := figures{}
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		id := dra.DeviceID{Driver: result.Driver, Pool: result.Pool, Device: result.Device}
		device, published := c.catalog.Device(id)
		if !published || result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		for d, amount := range c.amountsOf(id.Driver, c.matcher.Matching(id, device), device, result) {
			counted.plus(d, ledger.Amount{}, amount)
		}
	}
	for d, f := range counted {
		c.amounts.plus(d, f.total, f.used)
	}
	if len(counted) > 0 {
		c.claims[key] = counted
	}
}

// amountsOf returns what a device comes to: one of each class and of each card that a class names, and its capacity. Of a
// device that is shared (KEP-5075), a result has the capacity that it consumes.
func (c *deviceCount) amountsOf(driver string, classes []string, device *resourceapi.Device, result *resourceapi.DeviceRequestAllocationResult) map[ledger.Dimension]ledger.Amount {
	amounts := map[ledger.Dimension]ledger.Amount{}
	for _, class := range classes {
		amounts[ledger.Dimension{Kind: ledger.DeviceCount, Name: class}] = ledger.Units(1)
		if card := c.catalog.Card(class); card != "" {
			amounts[ledger.Dimension{Kind: ledger.Card, Name: card}] = ledger.Units(1)
		}
		for name, capacity := range device.Capacity {
			quantity := capacity.Value
			if result != nil && result.ConsumedCapacity != nil {
				quantity = result.ConsumedCapacity[name]
			}
			for _, spelling := range dra.CapacitySpellings(driver, name) {
				amounts[ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: spelling}] = amountOf(quantity)
			}
		}
	}
	return amounts
}
