// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestKinds(t *testing.T) {
	if last := ledger.DeviceCapacity; len(ledger.Kinds) != int(last)+1 {
		t.Fatalf("the table has %d kinds, but the last constant is %d: correct the table, or what is last here", len(ledger.Kinds), last)
	}
	names := map[string]ledger.Kind{}
	for i, info := range ledger.Kinds {
		for _, name := range slices.Compact([]string{info.Name, info.Shown}) {
			if other, again := names[name]; again || name == "" {
				t.Errorf("%q stands for the kinds %d and %d", name, other, i)
			}
			names[name] = ledger.Kind(i)
		}
	}
}

func TestEveryKindHasAKey(t *testing.T) {
	kindtest.Run(t, kindtest.Form[ledger.Key]{
		Write: func(d ledger.Dimension) (ledger.Key, error) { return d.Key(), nil },
		Read:  ledger.ParseKey,
	})
}

func TestEveryKindHasLabels(t *testing.T) {
	var labels map[string]string
	kindtest.Run(t, kindtest.Form[ledger.Dimension]{
		Write: func(d ledger.Dimension) (ledger.Dimension, error) {
			labels = maps.Collect(d.Labels)
			return d, nil
		},
		Read: func(ledger.Dimension) (ledger.Dimension, error) {
			return ledger.ParseLabels(func(label string) string { return labels[label] })
		},
	})
}

func TestParseKey(t *testing.T) {
	for _, c := range []struct {
		name string
		key  ledger.Key
		ok   bool
	}{
		{"the name of the visibility API", ledger.Key{Kind: "Device", Name: "h100"}, true},
		{"no kind", ledger.Key{Name: "h100"}, false},
		{"another kind", ledger.Key{Kind: "Slot", Name: "h100"}, false},
		{"no name", ledger.Key{Kind: "Card"}, false},
		{"a capacity too many", ledger.Key{Kind: "Card", Name: "h100", Capacity: "memory"}, false},
		{"a capacity that is missing", ledger.Key{Kind: "DeviceCapacity", Name: "h100"}, false},
	} {
		if d, err := ledger.ParseKey(c.key); (err == nil) != c.ok {
			t.Errorf("%s: got %+v and %v", c.name, d, err)
		}
	}
}
