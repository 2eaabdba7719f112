// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// deviceCounter converts device usages to amounts.
type deviceCounter struct {
	dimensions *ledger.Dimensions
	catalog    *dra.Catalog
	matching   matching
}

// count returns the least amounts of a usage and its additional alternatives. It also reports whether the amounts
// depend on the picked devices.
func (dc *deviceCounter) count(usage dra.Usage) (ledger.Amounts, [][]ledger.Amounts, bool, error) {
	var least ledger.Amounts
	open := usage.Least || len(usage.Choices) > 0 || dc.limits(&usage) || dc.matching.depends(&usage)
	for _, d := range usage.Devices {
		var err error
		if least, err = dc.plus(least, d); err != nil {
			return nil, nil, false, err
		}
	}
	choices := make([][]ledger.Amounts, len(usage.Choices))
	for i, alternatives := range usage.Choices {
		for _, d := range alternatives {
			amounts, err := dc.plus(nil, d)
			if err != nil {
				return nil, nil, false, err
			}
			choices[i] = append(choices[i], amounts)
		}
	}
	return least, choices, open, nil
}

// limits reports whether any queue limits a capacity of a class in the usage.
func (dc *deviceCounter) limits(usage *dra.Usage) bool {
	for class := range usage.Classes {
		if len(dc.dimensions.Capacities(class)) > 0 {
			return true
		}
	}
	return false
}

// plus adds devices of a class, and of all other classes that an allocated device counts for. Each class adds the
// number of devices and its limited capacities. Each card of these classes counts once. So does each extended resource
// that they offer, unless the devices serve a pod that requests the resource.
func (dc *deviceCounter) plus(amounts ledger.Amounts, d dra.Devices) (ledger.Amounts, error) {
	amounts, err := dc.plusClass(amounts, &d, d.Class)
	once := dc.offeredBy(d.Class, nil, &d)
	if card := dc.catalog.Card(d.Class); card != "" {
		once = append(once, ledger.Dimension{Kind: ledger.Card, Name: card})
	}
	for _, class := range dc.matching.others(&d) {
		if dc.matching.limited[class] && err == nil {
			amounts, err = dc.plusClass(amounts, &d, class)
		}
		if dc.matching.offering[class] {
			once = dc.offeredBy(class, once, &d)
		}
		card := ledger.Dimension{Kind: ledger.Card, Name: dc.catalog.Card(class)}
		if card.Name != "" && dc.matching.Cards && !slices.Contains(once, card) {
			once = append(once, card)
		}
	}
	for _, dimension := range once {
		if err == nil {
			amounts, err = amounts.Plus(dc.dimensions.Ordinal(dimension), ledger.Units(d.Count))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("devices of class %s: %w", d.Class, err)
	}
	return amounts, nil
}

// offeredBy appends the extended resource that a class offers, if it counts and is not listed yet. Otherwise, claims could
// bypass a quota of the resource. The resource has a dimension if a node offers it or a queue limits it.
func (dc *deviceCounter) offeredBy(class string, once []ledger.Dimension, d *dra.Devices) []ledger.Dimension {
	name := dc.catalog.Offers(class)
	resource := ledger.Dimension{Kind: ledger.Resource, Name: string(name)}
	requested := name == d.Extended || class == d.Class && d.Extended != ""
	if name == "" || requested || slices.Contains(once, resource) {
		return once
	}
	if _, counts := dc.dimensions.Known(resource); counts {
		once = append(once, resource)
	}
	return once
}

// plusClass adds the amounts of devices as devices of one class.
func (dc *deviceCounter) plusClass(amounts ledger.Amounts, d *dra.Devices, class string) (ledger.Amounts, error) {
	o, exists := dc.countOf(class)
	if !exists {
		return amounts, nil
	}
	amounts, err := amounts.Plus(o, ledger.Units(d.Count))
	for _, o := range dc.dimensions.Capacities(class) {
		quantity, has := d.CapacityNamed(dc.dimensions.Dimension(o).Capacity, dc.catalog)
		if !has || err != nil {
			continue
		}
		var each ledger.Amount
		if each, err = amountOf(quantity); err == nil {
			each, err = each.Times(d.Count)
		}
		if err == nil {
			amounts, err = amounts.Plus(o, each)
		}
	}
	return amounts, err
}

// countOf returns the dimension that counts devices of a class. It returns false if the class does not exist and no
// queue limits it. Users can write any name into a claim, and each dimension costs memory in every queue.
func (dc *deviceCounter) countOf(class string) (ledger.Ordinal, bool) {
	d := ledger.Dimension{Kind: ledger.DeviceCount, Name: class}
	if o, known := dc.dimensions.Known(d); known {
		return o, true
	}
	if _, exists := dc.catalog.Class(class); !exists && dc.catalog != nil {
		return 0, false
	}
	return dc.dimensions.Ordinal(d), true
}

// namesNone reports whether a usage names a class that does not exist.
func (dc *deviceCounter) namesNone(usage *dra.Usage) bool {
	for class := range usage.Classes {
		if _, exists := dc.countOf(class); !exists {
			return true
		}
	}
	return false
}

// Most returns the most that a claim with this usage may need, whatever alternatives are chosen. Each choice counts
// with the largest alternative in each dimension.
func (cs *Claims) Most(usage dra.Usage) (ledger.Amounts, error) {
	most, choices, _, err := cs.count(usage)
	for _, alternatives := range choices {
		var dearest ledger.Amounts
		for _, amounts := range alternatives {
			dearest = dearest.Max(amounts)
		}
		if err == nil {
			most, err = most.PlusAll(dearest)
		}
	}
	return most, err
}
