// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"fmt"
	"math"
	"testing"
)

// TestGreedyTriesAnotherUnit uses a cluster in which the cheapest unit that frees memory uses up the right of the only
// queue that can free CPU.
func TestGreedyTriesAnotherUnit(t *testing.T) {
	c := &cluster{
		units:      []Unit{{Name: "cpu", Priority: 0}, {Name: "memory", Priority: 1}, {Name: "memory of another queue", Priority: 2}},
		free:       [][]int{{0, 0}},
		need:       []int{1, 1},
		frees:      [][][]int{{{1, 0}}, {{0, 1}}, {{0, 1}}},
		queue:      []int{0, 0, 1},
		queueRight: []int{1, 1},
	}
	for budget, want := range map[int]string{0: "[]", math.MaxInt: "[0 2]"} {
		p := newProblem(c.units, c.allowed, c.enough)
		if got := fmt.Sprint(p.indexes(newGreedy(p, budget).run(newSet(len(c.units))))); got != want {
			t.Errorf("%s with budget %d, want %s", got, budget, want)
		}
	}
}
