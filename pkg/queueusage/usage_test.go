// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestUsageOfAQueue(t *testing.T) {
	of := func(kind ledger.Kind, name string, used, waiting int64) Entry {
		return Entry{Dimension: ledger.Dimension{Kind: kind, Name: name}, Used: ledger.Units(used), Waiting: ledger.Units(waiting)}
	}
	limited := func(e Entry, most int64) Entry {
		e.Listed, e.Limit = true, ledger.AtMost(ledger.Units(most))
		return e
	}
	choice := limited(of(ledger.Card, "H100", 1, 2), 8)
	choice.Either = ledger.Units(3)
	other := of(ledger.Card, "A100", 0, 0)
	other.Either = ledger.Units(3)
	var many []Entry
	for i := range 7 {
		many = append(many, of(ledger.Card, fmt.Sprint("c", 6-i), 1, 0))
	}
	inherited := limited(of(ledger.DeviceCount, "h100", 0, 0), 8)
	inherited.Listed = false
	for _, c := range []struct {
		name    string
		entries []Entry
		want    Usage
	}{
		{"nothing", nil, Usage{}},
		{"resources and capacities do not count", []Entry{of(ledger.Resource, "cpu", 4, 0), of(ledger.DeviceCapacity, "h100", 4, 0)}, Usage{}},
		{"a limit of a queue above", []Entry{inherited}, Usage{}},
		{"devices and cards", []Entry{limited(of(ledger.DeviceCount, "h100", 6, 2), 8), of(ledger.DeviceCount, "a100", 1, 0), limited(of(ledger.Card, "H200", 0, 0), 4)}, Usage{"a100 1, h100 6/8 (2 waiting)", "H200 0/4"}},
		{"cards that pods may choose", []Entry{choice, other}, Usage{Cards: "A100 0 (either: 3), H100 1/8 (2 waiting, either: 3)"}},
		{"less than nothing waits", []Entry{of(ledger.Card, "H200", 2, -1)}, Usage{Cards: "H200 2"}},
		{"many cards", many, Usage{Cards: "c0 1, c1 1, c2 1, c3 1, c4 1, and 2 more"}},
	} {
		if got := Of(c.entries); got != c.want {
			t.Errorf("%s: usage is %q, want %q", c.name, got, c.want)
		}
	}
}

func TestUsageKnowsAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		column, known := columns[d.Kind]
		usage := Of([]Entry{{Dimension: d, Used: ledger.Units(1)}})
		switch {
		case !known:
			return "", fmt.Errorf("no column has the kind %s: %+v", d.Kind, usage)
		case column == "" && usage == Usage{}:
			return "", nil
		default:
			return fmt.Sprintf("%+v", usage), nil
		}
	}})
}
