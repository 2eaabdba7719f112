// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzChoose compares Choose with a search of all sets, in random clusters.
func FuzzChoose(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkCluster)
}

func TestChooseFindsTheCheapestOfAllSets(t *testing.T) {
	for seed := range uint64(2000) {
		checkCluster(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkCluster(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	c := randomCluster(random, random.IntN(11))
	want, exists := c.cheapest()
	got, found := Choose(c.units, c.allowed, c.enough, math.MaxInt)
	if found != exists || found && !slices.Equal(got, want) {
		t.Fatalf("seed %d: %v, %t, want %v, %t", seed, got, found, want, exists)
	}
	for _, budget := range []int{-1, 0, 1, 5, 20, math.MaxInt} {
		c.checkBudget(t, random, budget, exists)
	}
}

// checkBudget checks the properties that hold for every budget.
func (c *cluster) checkBudget(t *testing.T, random *rand.Rand, budget int, exists bool) {
	t.Helper()
	got, found := Choose(c.units, c.allowed, c.enough, budget)
	if found {
		c.mustBeRight(t, got)
	}
	if found && !exists || !found && exists && c.allowed(c.all()) {
		t.Errorf("found: %t with budget %d, exists: %t", found, budget, exists)
	}
	order := random.Perm(len(c.units))
	moved := c.permuted(order)
	again, foundAgain := Choose(moved.units, moved.allowed, moved.enough, budget)
	back := []int{}
	for _, i := range again {
		back = append(back, slices.Index(order, i))
	}
	slices.Sort(back)
	if found != foundAgain || found && !slices.Equal(back, got) {
		t.Errorf("%v with budget %d, but %v if the units come in another order", got, budget, back)
	}
}

// TestChooseAsksRarely counts calls of enough with a budget of 256.
func TestChooseAsksRarely(t *testing.T) {
	for _, c := range []struct {
		name          string
		cluster       *cluster
		victims, most int
	}{
		{"once if nothing need go", evenCluster(64, 1, 0), 0, 1},
		{"once if there are no units and the pod has no room", evenCluster(0, 1, 1), 0, 1},
		{"twice if nothing helps", evenCluster(64, 1, 65), 0, 2},
		{"once if no unit may go", evenCluster(64, 1, 1).rights(1, 0), 0, 1},
		{"three times if the cheapest unit is enough", evenCluster(1000, 1, 1), 1, 3},
		{"few times if one of 1,000 units helps", evenCluster(1000, 1000, 1).onlyNode(), 1, 20},
		{"little more often than there are units to find a pair", evenCluster(64, 8, 2), 2, 100},
		{"few times if all of eight units are needed", evenCluster(8, 1, 8), 8, 30},
		{"as often as the budget says if many sets of many units would do", evenCluster(64, 1, 8), 8, 260},
		{"and with 1,000 units", evenCluster(1000, 1, 8), 8, 260},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			got, found := Choose(c.cluster.units, c.cluster.allowed, func(set []int) bool { asked++; return c.cluster.enough(set) }, 256)
			if len(got) != c.victims || found != c.cluster.enough(got) || asked > c.most {
				t.Errorf("%v, %t, asked %d times, want %d victims and at most %d times", got, found, asked, c.victims, c.most)
			}
			if found {
				c.cluster.mustBeRight(t, got)
			}
		})
	}
}

// pods makes units that free one on the node of the preemptor, or nothing if the name begins with "useless". All are in
// one queue, which may lose as many as right says.
func pods(need, right int, units ...Unit) *cluster {
	c := &cluster{need: []int{need}, free: [][]int{{0}}, queueRight: []int{right}, units: units, queue: make([]int, len(units))}
	for _, u := range units {
		frees := 1
		if strings.HasPrefix(u.Name, "useless") {
			frees = 0
		}
		c.frees = append(c.frees, [][]int{{frees}})
	}
	return c
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster *cluster
		want    string
	}{
		{"nothing if nothing need go", pods(0, 9, Unit{Name: "a"}), "[]"},
		{"the cheapest pod that helps", pods(1, 9, Unit{Name: "a", Priority: 2}, Unit{Name: "b", Priority: 1}, Unit{Name: "useless"}), "[b]"},
		{
			"a second pod of a gang that is hurt already, although pods of other gangs are cheaper",
			pods(2, 9, Unit{Name: "a", Gang: "g", Priority: 1}, Unit{Name: "b", Gang: "h"}, Unit{Name: "c", Gang: "g", Priority: 1}), "[a c]",
		},
		{
			"more pods without a gang rather than a gang",
			pods(2, 9, Unit{Name: "a", Gang: "g"}, Unit{Name: "b", Gang: "g"}, Unit{Name: "c", Priority: 9}, Unit{Name: "d", Priority: 9}), "[c d]",
		},
		{
			"cheap pods that do not help use up no right",
			pods(2, 2, Unit{Name: "useless 1"}, Unit{Name: "useless 2"}, Unit{Name: "a", Priority: 1}, Unit{Name: "b", Priority: 1}), "[a b]",
		},
	} {
		for _, budget := range []int{0, 100} {
			t.Run(fmt.Sprintf("%s/budget %d", c.name, budget), func(t *testing.T) {
				got, found := Choose(c.cluster.units, c.cluster.allowed, c.cluster.enough, budget)
				names := []string{}
				for _, i := range got {
					names = append(names, c.cluster.units[i].Name)
				}
				if fmt.Sprint(names) != c.want || !found {
					t.Errorf("%v, %t, want %s", names, found, c.want)
				}
			})
		}
	}
}

// TestChooseWithoutAnswersForSetsThatAreNotAllowed checks that true is a safe result of enough if the caller cannot decide.
func TestChooseWithoutAnswersForSetsThatAreNotAllowed(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		c := randomCluster(random, random.IntN(9))
		want, exists := c.cheapest()
		got, found := Choose(c.units, c.allowed, func(set []int) bool { return !c.allowed(set) || c.enough(set) }, math.MaxInt)
		if found != exists || found && !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, %t, want %v, %t", seed, got, found, want, exists)
		}
	}
}
