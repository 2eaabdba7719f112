// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// cluster is the subject of a test. A pod needs room on one node and in its quota.
type cluster struct {
	// free is the free amount of each resource on each node. It is negative if more must go than the pod needs.
	free [][]int
	// frees is the amount that each unit frees on each node.
	frees [][][]int
	need  []int
	// quota is the total amount of the first resource that must go.
	quota int
	// queue is the queue of each unit. Each queue may lose as many units as its right says, and each gang as many pods.
	queue      []int
	queueRight []int
	gangRight  map[string]int
	units      []Unit
}

func (c *cluster) enough(set []int) bool {
	quota := c.quota
	for _, i := range set {
		for _, freed := range c.frees[i] {
			quota -= freed[0]
		}
	}
	for node := range c.free {
		if quota <= 0 && c.fits(node, set) {
			return true
		}
	}
	return false
}

func (c *cluster) fits(node int, set []int) bool {
	for r, need := range c.need {
		room := c.free[node][r]
		for _, i := range set {
			room += c.frees[i][node][r]
		}
		if room < need {
			return false
		}
	}
	return true
}

func (c *cluster) allowed(set []int) bool {
	queues, gangs := slices.Clone(c.queueRight), map[string]int{}
	for _, i := range set {
		queues[c.queue[i]]--
		gangs[c.units[i].Gang] += c.units[i].Pods
		if right, limited := c.gangRight[c.units[i].Gang]; queues[c.queue[i]] < 0 || limited && gangs[c.units[i].Gang] > right {
			return false
		}
	}
	return true
}

// randomCluster makes a cluster with many ties, gangs and rights.
func randomCluster(random *rand.Rand, units int) *cluster {
	nodes, resources, queues := 1+random.IntN(4), 1+random.IntN(3), 1+random.IntN(3)
	c := &cluster{gangRight: map[string]int{}}
	for range nodes {
		c.free = append(c.free, amounts(random, resources, 2))
	}
	for range queues {
		c.queueRight = append(c.queueRight, units)
		if random.IntN(3) == 0 {
			c.queueRight[len(c.queueRight)-1] = random.IntN(4)
		}
	}
	c.need = amounts(random, resources, 8)
	c.quota = max(0, random.IntN(8)-4)
	for i := range units {
		unit := Unit{
			Pods: 1 + random.IntN(2), Priority: int32(random.IntN(3)), Excess: float64(random.IntN(3)) / 2,
			Closeness: random.IntN(2), Created: int64(random.IntN(3)), Name: fmt.Sprint("unit", i),
		}
		if random.IntN(2) == 0 {
			unit.Gang = fmt.Sprint("gang", random.IntN(3))
		}
		if unit.Gang != "" && random.IntN(6) == 0 {
			c.gangRight[unit.Gang] = random.IntN(4)
		}
		c.units = append(c.units, unit)
		c.queue = append(c.queue, random.IntN(queues))
		freed := make([][]int, nodes)
		for node := range freed {
			freed[node] = make([]int, resources)
		}
		for range 1 + random.IntN(2) {
			freed[random.IntN(nodes)] = amounts(random, resources, 4)
		}
		c.frees = append(c.frees, freed)
	}
	return c
}

func amounts(random *rand.Rand, resources, below int) []int {
	amounts := make([]int, resources)
	for r := range amounts {
		amounts[r] = random.IntN(below)
	}
	return amounts
}

// permuted returns the same cluster with reordered units. Unit i becomes unit order[i].
func (c *cluster) permuted(order []int) *cluster {
	p := *c
	p.units, p.queue, p.frees = make([]Unit, len(order)), make([]int, len(order)), make([][][]int, len(order))
	for i, to := range order {
		p.units[to], p.queue[to], p.frees[to] = c.units[i], c.queue[i], c.frees[i]
	}
	return &p
}

func (c *cluster) all() []int {
	all := make([]int, len(c.units))
	for i := range all {
		all[i] = i
	}
	return all
}

// cheapest searches all sets.
func (c *cluster) cheapest() (best []int, found bool) {
	for _, set := range subsets(len(c.units)) {
		if c.allowed(set) && c.enough(set) && (!found || compare(c.units, set, best) < 0) {
			best, found = set, true
		}
	}
	return best, found
}

func subsets(units int) [][]int {
	var all [][]int
	for bits := range 1 << units {
		set := []int{}
		for i := range units {
			if bits>>i&1 == 1 {
				set = append(set, i)
			}
		}
		all = append(all, set)
	}
	return all
}

// mustBeRight fails the test unless a set is allowed, enough and minimal.
func (c *cluster) mustBeRight(t *testing.T, set []int) {
	t.Helper()
	if !slices.IsSorted(set) || !c.allowed(set) || !c.enough(set) {
		t.Errorf("%v: sorted: %t, allowed: %t, enough: %t", set, slices.IsSorted(set), c.allowed(set), c.enough(set))
	}
	for i, unit := range set {
		if c.enough(slices.Delete(slices.Clone(set), i, i+1)) {
			t.Errorf("%v: unit %d could stay", set, unit)
		}
	}
}

// compare compares the costs of two sets of units, given as indexes. The result is negative if a is cheaper.
func compare(units []Unit, a, b []int) int { return CostOf(units, a).Compare(CostOf(units, b)) }
