// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// deviceCounter turns usages of devices into amounts.
type deviceCounter struct {
	dimensions *ledger.Dimensions
	catalog    *dra.Catalog
	matching   matching
}

// count returns the least amounts of a usage, the alternatives that come on top, and whether the amounts
// depend on the devices that are picked.
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

// limits reports whether any queue limits a capacity of a class that occurs.
func (dc *deviceCounter) limits(usage *dra.Usage) bool {
	for class := range usage.Classes {
		if len(dc.dimensions.Capacities(class)) > 0 {
			return true
		}
	}
	return false
}

// plus adds devices of a class, and of the other classes that an allocated device counts for. Each class adds the
// number of devices and those of its capacity dimensions that some queue limits. Each card that a class names counts
// once.
func (dc *deviceCounter) plus(amounts ledger.Amounts, d dra.Devices) (ledger.Amounts, error) {
	amounts, err := dc.plusClass(amounts, &d, d.Class)
	var cards []string
	if card := dc.catalog.Card(d.Class); card != "" {
		cards = append(cards, card)
	}
	for _, class := range dc.matching.others(&d) {
		if dc.matching.limited[class] && err == nil {
			amounts, err = dc.plusClass(amounts, &d, class)
		}
		if card := dc.catalog.Card(class); card != "" && dc.matching.Cards && !slices.Contains(cards, card) {
			cards = append(cards, card)
		}
	}
	for _, card := range cards {
		if err == nil {
			amounts, err = amounts.Plus(dc.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: card}), ledger.Units(d.Count))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("devices of class %s: %w", d.Class, err)
	}
	return amounts, nil
}

// plusClass adds what devices come to as devices of one class.
func (dc *deviceCounter) plusClass(amounts ledger.Amounts, d *dra.Devices, class string) (ledger.Amounts, error) {
	o, exists := dc.countOf(class)
	if !exists {
		return amounts, nil
	}
	amounts, err := amounts.Plus(o, ledger.Units(d.Count))
	for name, quantity := range d.Capacity {
		o, listed := dc.dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: string(name)})
		if !listed || err != nil {
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

// countOf returns the dimension that counts devices of a class; false if there is no such class, and no queue limits it.
// Users can write any name into a claim, and a dimension costs every queue.
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

func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}
