// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestChecksAndChargesDoNotAllocate covers the calls that run for every pod.
func TestChecksAndChargesDoNotAllocate(t *testing.T) {
	l := newLedger(t, spec("root", "", 100), spec("ml", "root", 50), spec("team", "ml", 20))
	team := l.id(t, "team")
	one, three := Demand{l.part("a", 1)}, Demand{l.part("a", 1), l.part("b", 2), l.part("c", 3)}
	list := Amounts{{0, Units(1)}}
	for _, c := range []struct {
		name string
		most float64
		do   func() error
	}{
		{"Fits, one part", 0, func() error { _, err := l.Fits(team, one); return err }},
		{"Fits, three parts", 0, func() error { _, err := l.Fits(team, three); return err }},
		{"FitsInqueue", 0, func() error { _, err := l.FitsInqueue(team, list); return err }},
		{"Charge and Release, one part", 0, func() error {
			if err := l.Charge(team, "pod", one); err != nil {
				return err
			}
			return l.Release(one[0], "pod")
		}},
		{"Charge and Release, three parts", 0, func() error {
			if err := l.Charge(team, "pod", three); err != nil {
				return err
			}
			for _, p := range three {
				if err := l.Release(p, "pod"); err != nil {
					return err
				}
			}
			return nil
		}},
		{"Is, Of and Twin", 0, func() error {
			twin := one[0].Twin()
			if !twin.Is(list) || twin.Of(0) != Units(1) {
				t.Error("the twin differs")
			}
			return nil
		}},
		{"Amend to the same amounts", 0, func() error { return l.Amend(one[0], list) }},
		{"MakePart: its copy of the list", 1, func() error {
			if p := MakePart(Amounts{{0, Units(1)}}); p.Is(nil) {
				t.Error("the part is empty")
			}
			return nil
		}},
	} {
		if got := testing.AllocsPerRun(100, func() {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
		}); got > c.most {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.most)
		}
	}
}
