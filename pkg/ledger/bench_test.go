// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"
)

// benchmarkTree returns a tree of depth 4. Every queue limits every dimension differently from its parent, so checks skip no limit.
func benchmarkTree(b *testing.B) (*Ledger, QueueID, []Ordinal) {
	b.Helper()
	var dimensions Dimensions
	ordinals := []Ordinal{
		dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"}),
		dimensions.Ordinal(Dimension{Kind: Resource, Name: "memory"}),
		dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"}),
	}
	var total Amounts
	specs := []QueueSpec{{Name: "0"}}
	for depth := int64(1); depth <= 4; depth++ {
		spec := QueueSpec{Name: fmt.Sprint(depth), Parent: fmt.Sprint(depth - 1)}
		for _, o := range ordinals {
			spec.Capability = append(spec.Capability, Entry{Dimension: o, Amount: Units(100_000 - 1_000*depth)})
		}
		specs = append(specs, spec)
	}
	for _, o := range ordinals {
		total = append(total, Entry{Dimension: o, Amount: Units(100_000)})
	}
	l, aside := New(&dimensions, total, specs)
	if len(aside) > 0 {
		b.Fatal(aside)
	}
	leaf, _ := l.Queue("4")
	return l, leaf, ordinals
}

// benchmarkDemands returns the demands of a pod without claims and of a pod with two claims.
func benchmarkDemands(ordinals []Ordinal) map[string]Demand {
	var all Amounts
	for _, o := range ordinals {
		all = append(all, Entry{Dimension: o, Amount: Units(1)})
	}
	return map[string]Demand{
		"1 part with 3 entries": {NewPart(all)},
		"3 parts":               {NewPart(all), NewPart(all[2:]), NewPart(all[1:])},
	}
}

func BenchmarkFits(b *testing.B) {
	l, leaf, ordinals := benchmarkTree(b)
	for _, name := range []string{"1 part with 3 entries", "3 parts"} {
		d := benchmarkDemands(ordinals)[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if refusal, err := l.Fits(leaf, d); refusal != nil || err != nil {
					b.Fatal(refusal, err)
				}
			}
		})
	}
}

func BenchmarkCharge(b *testing.B) {
	l, leaf, ordinals := benchmarkTree(b)
	for _, name := range []string{"1 part with 3 entries", "3 parts"} {
		d := benchmarkDemands(ordinals)[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Charge(leaf, "pod", d); err != nil {
					b.Fatal(err)
				}
				for _, p := range d {
					if err := l.Release(p, "pod"); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
