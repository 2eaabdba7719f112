// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"math/rand/v2"
	"slices"
	"testing"
)

const plenty = 1 << 20

// checkCluster compares Choose with a look at all sets, in a random cluster.
func checkCluster(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	c := randomCluster(random, random.IntN(11))
	want, exists := c.cheapest()
	got, found := Choose(c.units, c.allowed, c.enough, plenty)
	if found != exists || !slices.Equal(got, want) {
		t.Fatalf("seed %d: %v, %t, want %v, %t", seed, got, found, want, exists)
	}
	if found {
		c.mustBeRight(t, got)
	}

	for _, budget := range []int{0, 1, 5, plenty} {
		got, found := Choose(c.units, c.allowed, c.enough, budget)
		if found {
			c.mustBeRight(t, got)
		}
		if found && !exists || !found && exists && unlimited(c) {
			t.Fatalf("seed %d: %t with budget %d, want %t", seed, found, budget, exists)
		}
		order := random.Perm(len(c.units))
		moved := c.permuted(order)
		again, _ := Choose(moved.units, moved.allowed, moved.enough, budget)
		back := []int{}
		for _, i := range again {
			back = append(back, slices.Index(order, i))
		}
		slices.Sort(back)
		if found && !slices.Equal(back, got) {
			t.Fatalf("seed %d: %v with budget %d, but %v if the units come in another order", seed, got, budget, back)
		}
	}
}

func unlimited(c *cluster) bool {
	all := make([]int, len(c.units))
	for i := range all {
		all[i] = i
	}
	return c.allowed(all)
}

func TestChoosesTheCheapestOfAllSets(t *testing.T) {
	for seed := range uint64(20000) {
		checkCluster(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzChoose(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkCluster)
}
