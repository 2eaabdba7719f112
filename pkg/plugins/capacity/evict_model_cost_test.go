// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"math/bits"
	"slices"
)

// modelCost is the cost of victims.
type modelCost struct {
	gangs                                    int
	priorities, excesses, closeness, created []int
}

func (m *model) cost(gone podSet) (c modelCost) {
	gangs := map[int]bool{}
	for i, pod := range m.pods {
		if !gone.has(i) {
			continue
		}
		job := &m.jobs[pod.job]
		if job.minimum > 1 {
			gangs[pod.job] = true
		}
		c.priorities = append(c.priorities, job.priority)
		c.excesses = append(c.excesses, m.excess(i))
		c.closeness = append(c.closeness, m.depth(job.queue)-len(m.branch(job.queue, m.asking.queue)))
		c.created = append(c.created, pod.created)
	}
	c.gangs = len(gangs)
	slices.SortFunc(c.priorities, func(a, b int) int { return cmp.Compare(b, a) })
	slices.Sort(c.excesses)
	slices.Sort(c.closeness)
	slices.Sort(c.created)
	return c
}

func (m *model) depth(q int) int {
	n := 0
	for ; q >= 0; q = m.queues[q].parent {
		n++
	}
	return n
}

// excess returns how far the queue of a pod with devices is above its target, in thousandths of the target.
func (m *model) excess(victim int) int {
	pod := &m.pods[victim]
	if pod.claim < 0 {
		return 0
	}
	q := m.jobs[pod.job].queue
	target, set := m.target(q, device)
	used := m.used(q, 0)[device]
	switch {
	case !set || used <= target:
		return 0
	case target == 0:
		return used * 1000
	default:
		return used*1000/target - 1000
	}
}

func (c modelCost) compare(o modelCost) int {
	return cmp.Or(cmp.Compare(c.gangs, o.gangs), slices.Compare(c.priorities, o.priorities), slices.Compare(o.excesses, c.excesses),
		slices.Compare(o.closeness, c.closeness), slices.Compare(o.created, c.created))
}

// placements calls each for all ways to place the asking pods.
func (m *model) placements(each func(places []int) bool) bool {
	places := make([]int, len(m.asks))
	var next func(i int) bool
	next = func(i int) bool {
		if i == len(places) {
			return each(places)
		}
		for node := range m.nodes {
			if places[i] = node; next(i + 1) {
				return true
			}
		}
		return false
	}
	return next(0)
}

// rightSomewhere reports whether a set is right and sufficient with some placement.
func (m *model) rightSomewhere(reclaim bool, gone podSet) bool {
	if !m.candidates(reclaim, gone) || !m.keepsGangs(gone) {
		return false
	}
	return m.placements(func(places []int) bool { return m.enough(gone, places) && m.right(reclaim, gone, places) })
}

// best returns the cheapest right set, false if there is none.
func (m *model) best(reclaim bool) (best podSet, found bool) {
	var cost modelCost
	for gone := podSet(0); gone < 1<<len(m.pods); gone++ {
		if found && bits.OnesCount(uint(gone)) > bits.OnesCount(uint(best)) && gone&best == best {
			continue
		}
		if !m.rightSomewhere(reclaim, gone) {
			continue
		}
		c := m.cost(gone)
		if !found || !m.wholes(gone) && m.wholes(best) || m.wholes(gone) == m.wholes(best) && c.compare(cost) < 0 {
			best, cost, found = gone, c, true
		}
	}
	return best, found
}
