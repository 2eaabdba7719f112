// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// deviceCounter turns usages of devices into amounts.
type deviceCounter struct {
	dimensions *ledger.Dimensions
	catalog    *dra.Catalog
}

// count returns the least amounts of a usage, the alternatives that come on top, and whether the amounts
// depend on the devices that are picked.
func (dc *deviceCounter) count(usage dra.Usage) (ledger.Amounts, [][]ledger.Amounts, bool, error) {
	var least ledger.Amounts
	open := usage.Least || len(usage.Choices) > 0 || dc.limits(&usage)
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

// plus adds devices: their number, the cards of the model that their class names, and the capacity
// dimensions of the class that some queue limits.
func (dc *deviceCounter) plus(amounts ledger.Amounts, d dra.Devices) (ledger.Amounts, error) {
	amounts, err := amounts.Plus(dc.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: d.Class}), ledger.Units(d.Count))
	if card := dc.catalog.Card(d.Class); card != "" && err == nil {
		amounts, err = amounts.Plus(dc.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: card}), ledger.Units(d.Count))
	}
	for name, quantity := range d.Capacity {
		o, listed := dc.dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: d.Class, Capacity: string(name)})
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
	if err != nil {
		return nil, fmt.Errorf("devices of class %s: %w", d.Class, err)
	}
	return amounts, nil
}

func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}
