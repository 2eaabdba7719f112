// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"
)

// TestAPartKnowsItsHoldersHoweverManyThereAre also checks that a view keeps its changes to itself.
func TestAPartKnowsItsHoldersHoweverManyThereAre(t *testing.T) {
	var dimensions Dimensions
	device := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	part, name := NewPart(Amounts{{device, Units(2)}}), func(i int) Holder { return Holder(fmt.Sprint(i)) }
	for range 2 { // the second ledger forgets the charges in the first
		l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q"}})
		expect := func(when string, l *Ledger, first, last int) {
			t.Helper()
			for i := range 3 * manyHolders {
				if got, want := l.Holds(part, name(i)), i >= first && i < last; got != want {
					t.Fatalf("%s: holder %d holds the part: %t", when, i, got)
				}
			}
			if got := l.Balance(0, Allocated, device); got != Units(2) && first < last || got.Sign() != 0 && first >= last {
				t.Fatalf("%s: %s are charged", when, got)
			}
		}
		for n := range 2 * manyHolders {
			if err := l.Charge(0, name(n), Demand{part}); err != nil {
				t.Fatal(err)
			}
			expect("after charges", l, 0, n+1)
		}
		view := l.View()
		if err := view.Release(part, name(0)); err != nil {
			t.Fatal(err)
		}
		if err := view.Charge(0, name(2*manyHolders), Demand{part}); err != nil {
			t.Fatal(err)
		}
		expect("in the view", view, 1, 2*manyHolders+1)
		for n := range 2 * manyHolders {
			expect("after releases", l, n, 2*manyHolders)
			if err := l.Release(part, name(n)); err != nil {
				t.Fatal(err)
			}
		}
		expect("in the end", l, 0, 0)
		if err := l.Charge(0, name(1), Demand{part}); err != nil {
			t.Fatal(err)
		}
		expect("charged again", l, 1, 2)
	}
}
