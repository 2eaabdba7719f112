// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCost checks that the first set is cheaper than the second, although later rules say the opposite.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		name          string
		cheap, costly []Unit
	}{
		{"one gang rather than two", []Unit{{Gang: "a", Priority: 9}, {Gang: "a", Priority: 9}, {Gang: "a", Priority: 9}}, []Unit{{Gang: "a"}, {Gang: "b"}}},
		{"pods without a gang rather than a gang", []Unit{{Priority: 9}, {Priority: 9}}, []Unit{{Gang: "a"}}},
		{"the lower highest priority", []Unit{{Priority: 2}, {Priority: 2}, {Priority: 2}}, []Unit{{Priority: 3}}},
		{"the lower next priority", []Unit{{Priority: 1}, {Priority: 3}, {Priority: 1}}, []Unit{{Priority: 3}, {Priority: 2}}},
		{"fewer units of the same priority", []Unit{{Priority: 3, Excess: 1}}, []Unit{{Priority: 3, Excess: 2}, {Priority: 3, Excess: 2}}},
		{"units of less priority come after that", []Unit{{Priority: 3}}, []Unit{{Priority: 3}, {Priority: -1}}},
		{"the queue that is further above what it deserves", []Unit{{Excess: 2}}, []Unit{{Excess: 1, Closeness: 1}}},
		{"the lowest excess counts first", []Unit{{Excess: 2}, {Excess: 2}}, []Unit{{Excess: 9}, {Excess: 1}}},
		{"the queue that is closer", []Unit{{Closeness: 2}}, []Unit{{Closeness: 1, Created: 1}}},
		{"the younger", []Unit{{Created: 2, Pods: 2}}, []Unit{{Created: 1, Pods: 1}}},
		{"the oldest counts first", []Unit{{Created: 2}, {Created: 2}}, []Unit{{Created: 1}, {Created: 9}}},
		{"fewer pods", []Unit{{Pods: 1, Name: "z"}, {Pods: 2, Name: "y"}}, []Unit{{Pods: 4, Name: "a"}, {Pods: 0, Name: "b"}}},
		{"the name that comes first", []Unit{{Name: "a"}}, []Unit{{Name: "b"}}},
		{"an excess that is no number comes last", []Unit{{Excess: math.Inf(-1)}}, []Unit{{Excess: math.NaN()}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			units := slices.Concat(c.cheap, c.costly)
			var a, b []int
			for i := range units {
				if i < len(c.cheap) {
					a = append(a, i)
				} else {
					b = append(b, i)
				}
			}
			if compare(units, a, b) >= 0 || compare(units, b, a) <= 0 || compare(units, a, a) != 0 {
				t.Errorf("%d, opposite %d, same %d", compare(units, a, b), compare(units, b, a), compare(units, a, a))
			}
		})
	}
}

// TestCostIsAnOrder checks the properties that search relies on, for all sets of six units.
func TestCostIsAnOrder(t *testing.T) {
	for seed := range uint64(20) {
		units := randomCluster(rand.New(rand.NewPCG(seed, 3)), 6).units
		all := subsets(len(units))
		for _, a := range all {
			for _, b := range all {
				checkPair(t, units, a, b)
			}
		}
		slices.SortFunc(all, func(a, b []int) int { return compare(units, a, b) })
		for i := range all {
			for j := range i {
				if compare(units, all[j], all[i]) >= 0 {
					t.Fatalf("seed %d: %v and %v: the order is not transitive", seed, all[j], all[i])
				}
			}
		}
	}
}

func checkPair(t *testing.T, units []Unit, a, b []int) {
	t.Helper()
	order := compare(units, a, b)
	if order != -compare(units, b, a) || order == 0 && !slices.Equal(a, b) {
		t.Fatalf("%v and %v: %d, opposite %d", a, b, order, compare(units, b, a))
	}
	if len(a) == 1 && len(b) == 1 && order != CompareUnits(&units[a[0]], &units[b[0]]) {
		t.Fatalf("%v and %v: %d as sets, %d as units", a, b, order, CompareUnits(&units[a[0]], &units[b[0]]))
	}
	for i := range units {
		if slices.Contains(a, i) {
			continue
		}
		with := append(slices.Clone(a), i)
		if compare(units, a, with) >= 0 {
			t.Fatalf("%v is not cheaper than %v", a, with)
		}
		if CostOf(units, a).gangs == CostOf(units, b).gangs && units[i].Gang == "" && !slices.Contains(b, i) &&
			compare(units, with, append(slices.Clone(b), i)) != order {
			t.Fatalf("%v and %v: unit %d changes their order", a, b, i)
		}
	}
}
