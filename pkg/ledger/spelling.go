// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"strings"
)

// A capacity without a domain, such as memory, covers all drivers whose devices a class has. A capacity with the domain of a
// driver, such as gpu.example.com/memory, covers only the devices of this driver. These are two dimensions, and a device is
// charged in both. A capability holds in its own spelling and needs no translation. Deserved amounts and guarantees do,
// because other queues may be limited in the other spelling.

// bare returns the dimension without the domain of its capacity.
func (d Dimension) bare() Dimension {
	if _, name, qualified := strings.Cut(d.Capacity, "/"); qualified {
		d.Capacity = name
	}
	return d
}

// alignSpellings returns the queues with their deserved and guaranteed amounts in each spelling of a capacity that some
// queue uses. If no capacity has several spellings, the usual case, it returns the same list.
func alignSpellings(dimensions *Dimensions, specs []QueueSpec) []QueueSpec {
	if !dimensions.respelled {
		return specs
	}
	used := usedDimensions(dimensions, specs)
	aligned := slices.Clone(specs)
	for i := range aligned {
		aligned[i].Deserved = dimensions.align(aligned[i].Deserved, used)
		aligned[i].Guarantee = dimensions.align(aligned[i].Guarantee, used)
	}
	return aligned
}

// usedDimensions returns the dimensions that the limits of queues list.
func usedDimensions(dimensions *Dimensions, specs []QueueSpec) []bool {
	used := make([]bool, dimensions.Len())
	for i := range specs {
		for _, list := range []Amounts{specs[i].Capability, specs[i].Deserved, specs[i].Guarantee} {
			for _, e := range list {
				used[e.Dimension] = true
			}
		}
	}
	return used
}

// align adds the other spellings of capacities to a deserved or guaranteed list. The whole is at least the sum of its
// parts. A part that is not listed becomes as large as the whole. A listed part is cut to the whole.
func (ds *Dimensions) align(owed Amounts, used []bool) Amounts {
	var whole, parts Amounts
	for _, e := range owed {
		d := ds.names[e.Dimension]
		bare := d.bare()
		switch spellings := ds.spellings[bare]; {
		case d.Kind != DeviceCapacity || len(spellings) < 2:
		case d == bare:
			whole = append(whole, e)
		default:
			if o, known := ds.ordinals[bare]; known && used[o] {
				parts = addGuarantee(parts, Amounts{{o, e.Amount}})
			}
		}
	}
	if whole == nil && parts == nil {
		return owed
	}
	owed = owed.copied()
	for _, e := range parts {
		if !slices.ContainsFunc(whole, func(w Entry) bool { return w.Dimension == e.Dimension }) {
			owed = append(owed, e)
		}
	}
	for _, w := range whole {
		owed = ds.alignParts(owed, w, used)
	}
	return owed
}

func (ds *Dimensions) alignParts(owed Amounts, whole Entry, used []bool) Amounts {
	for _, o := range ds.spellings[ds.names[whole.Dimension]] {
		i := slices.IndexFunc(owed, func(e Entry) bool { return e.Dimension == o })
		switch {
		case i >= 0 && owed[i].Amount.Cmp(whole.Amount) > 0:
			owed[i].Amount = whole.Amount
		case i < 0 && used[o]:
			owed = append(owed, Entry{o, whole.Amount})
		}
	}
	return owed
}
