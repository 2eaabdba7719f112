// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ListedTwice is a limit that a queue lists twice, with different numbers.
type ListedTwice struct {
	// Field and Other are the two places, such as spec.dra.capability[h100].count.
	Field, Other string
	// Number is the limit of Dimension in Field. OtherNumber is the limit of OtherDimension in Other. The dimensions may be two
	// spellings of one capacity.
	Dimension, OtherDimension ledger.Dimension
	Number, OtherNumber       ledger.Amount
}

// written is a limit and its place.
type written struct {
	field  string
	of     ledger.Dimension
	number ledger.Amount
}

// DevicesListedTwice returns the device limits that a queue lists twice with different numbers: in spec.dra and in the
// form of Volcano 1.15, or with and without the domain of a capacity. severalDrivers reports whether devices of several
// drivers have a capacity. In this case, a capacity with a domain differs from the capacity without one.
func DevicesListedTwice(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions, severalDrivers func(capacity string) bool) []ListedTwice {
	field, err := DevicesInField(queue, dimensions)
	keys, keysErr := KeysOf(queue).Limits(dimensions)
	if err != nil || keysErr != nil {
		return nil // reported elsewhere
	}
	var twice []ListedTwice
	for _, list := range []struct {
		name, keyName string
		field, keys   ledger.Amounts
	}{
		{"capability", "capability", field.Capability, keys.Capability},
		{"deserved", "deserved", field.Deserved, keys.Deserved},
		{"guarantee", "guarantee.resource", field.Guarantee, keys.Guarantee},
	} {
		var all []written
		for _, e := range list.field {
			d := dimensions.Dimension(e.Dimension)
			all = append(all, written{"spec.dra." + list.name + fieldOf(d), d, e.Amount})
		}
		for _, e := range list.keys {
			d := dimensions.Dimension(e.Dimension)
			all = append(all, written{"spec." + list.keyName + keyOf(d), d, e.Amount})
		}
		twice = append(twice, pairs(all, severalDrivers)...)
	}
	return twice
}

func fieldOf(d ledger.Dimension) string {
	if d.Kind == ledger.DeviceCapacity {
		return "[" + d.Name + "].capacity[" + d.Capacity + "]"
	}
	return "[" + d.Name + "].count"
}

func keyOf(d ledger.Dimension) string {
	if d.Kind == ledger.DeviceCapacity {
		return "[" + d.Capacity + capacitySeparator + d.Name + "]"
	}
	return "[" + countPrefix + d.Name + "]"
}

func pairs(all []written, severalDrivers func(string) bool) []ListedTwice {
	slices.SortFunc(all, func(a, b written) int { return strings.Compare(a.field, b.field) })
	var twice []ListedTwice
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.number.Cmp(b.number) != 0 && sameThing(a.of, b.of, severalDrivers) {
				twice = append(twice, ListedTwice{a.field, b.field, a.of, b.of, a.number, b.number})
			}
		}
	}
	return twice
}

func sameThing(a, b ledger.Dimension, severalDrivers func(string) bool) bool {
	if a == b {
		return true
	}
	domainA, nameA := cutDomain(a.Capacity)
	domainB, nameB := cutDomain(b.Capacity)
	return a.Kind == b.Kind && a.Name == b.Name && nameA == nameB && (domainA == "" || domainB == "") && !severalDrivers(nameA)
}

func cutDomain(capacity string) (domain, name string) {
	if domain, name, qualified := strings.Cut(capacity, "/"); qualified {
		return domain, name
	}
	return "", capacity
}
