// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ListedTwice is one thing that a queue lists twice, with different numbers.
type ListedTwice struct {
	// Field and Other are where it is listed, such as spec.dra.capability[h100].count.
	Field, Other string
	// Number is what Field says of Dimension. OtherNumber is what Other says of OtherDimension, which may be another spelling of it.
	Dimension, OtherDimension ledger.Dimension
	Number, OtherNumber       ledger.Amount
}

// written is a limit, and where it is written.
type written struct {
	field string
	entry ledger.Entry
	of    ledger.Dimension
}

// DevicesListedTwice returns what a queue lists twice among its quotas of devices: in spec.dra and in the form of Volcano
// 1.15, or with and without the domain of a capacity. SeveralDrivers reports whether devices of several drivers have a
// capacity: then the capacity of one of them is another thing than the capacity of all.
func DevicesListedTwice(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions, severalDrivers func(capacity string) bool) []ListedTwice {
	field, err := DevicesInField(queue, dimensions)
	keys, keysErr := KeysOf(queue).Limits(dimensions)
	if err != nil || keysErr != nil {
		return nil // people are told about that
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
			all = append(all, writtenAs("spec.dra."+list.name, e, dimensions, fieldOf))
		}
		for _, e := range list.keys {
			all = append(all, writtenAs("spec."+list.keyName, e, dimensions, keyOf))
		}
		twice = append(twice, pairs(all, severalDrivers)...)
	}
	return twice
}

func writtenAs(list string, e ledger.Entry, dimensions *ledger.Dimensions, item func(ledger.Dimension) string) written {
	d := dimensions.Dimension(e.Dimension)
	return written{field: list + item(d), entry: e, of: d}
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
			if a.entry.Amount.Cmp(b.entry.Amount) != 0 && sameThing(a.of, b.of, severalDrivers) {
				twice = append(twice, ListedTwice{a.field, b.field, a.of, b.of, a.entry.Amount, b.entry.Amount})
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
