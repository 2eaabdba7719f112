// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"math/bits"
	"slices"
)

// enough reports whether all asking pods get what they need.
func (m *model) enough(gone podSet, places []int) bool {
	for d := range modelDimensions {
		if m.lacksQuota(d, gone) || m.lacksNode(d, gone, places) {
			return false
		}
	}
	return true
}

// right reports whether these victims break no right.
func (m *model) right(reclaim bool, gone podSet, places []int) bool {
	return m.candidates(reclaim, gone) && m.keepsGangs(gone) && (!reclaim || m.maySetTakeBack(gone, places))
}

func (m *model) candidates(reclaim bool, gone podSet) bool {
	covered := 0
	for i, pod := range m.pods {
		if !gone.has(i) {
			continue
		}
		job := &m.jobs[pod.job]
		if pod.leaving || pod.protected || reclaim == (job.queue == m.asking.queue) {
			return false
		}
		if reclaim && m.queues[job.queue].irreclaimable || !reclaim && job.priority >= m.asking.priority {
			return false
		}
		if pod.budgeted {
			covered++
		}
	}
	return covered <= m.budget
}

// count returns the number of pods of a job, and the number that go.
func (m *model) count(job int, gone podSet) (there, lost int) {
	for i, pod := range m.pods {
		if pod.job != job || pod.leaving {
			continue
		}
		if there++; gone.has(i) {
			lost++
		}
	}
	return there, lost
}

func (m *model) keepsGangs(gone podSet) bool {
	for j, job := range m.jobs {
		there, lost := m.count(j, gone)
		if job.minimum < 2 || lost == 0 || there-lost >= job.minimum {
			continue
		}
		if !m.wholeGangs || lost < there || there > job.minimum {
			return false
		}
	}
	return true
}

// wholes reports whether some gang goes as a whole.
func (m *model) wholes(gone podSet) bool {
	for j := range m.jobs {
		if m.wholeGang(j, gone) {
			return true
		}
	}
	return false
}

// maySetTakeBack reports whether the asking queue has a right to what each victim has.
func (m *model) maySetTakeBack(gone podSet, places []int) bool {
	for i := range m.pods {
		if gone.has(i) && !m.mayTakeBack(i, gone, places) {
			return false
		}
	}
	return true
}

// frees returns what a pod frees or, if its gang goes as a whole, what the gang frees.
func (m *model) frees(victim int, gone podSet, match func(*modelPod) bool) (sum [modelDimensions]int) {
	claims := map[int]bool{}
	whole := m.wholeGang(m.pods[victim].job, gone)
	for i, pod := range m.pods {
		if !gone.has(i) || !match(&pod) || i != victim && (!whole || pod.job != m.pods[victim].job) {
			continue
		}
		sum[core] += pod.cores
		if pod.claim >= 0 && !claims[pod.claim] && m.held(gone, func(other *modelPod) bool { return other.claim == pod.claim }) == ([modelDimensions]int{}) {
			claims[pod.claim] = true
			sum[device] += m.claims[pod.claim].devices
		}
	}
	return sum
}

// wholeGang reports whether a gang goes as a whole.
func (m *model) wholeGang(job int, gone podSet) bool {
	there, lost := m.count(job, gone)
	return m.jobs[job].minimum > 1 && lost > 0 && there-lost < m.jobs[job].minimum
}

func (m *model) mayTakeBack(victim int, gone podSet, places []int) bool {
	queue := m.jobs[m.pods[victim].job].queue
	frees := m.frees(victim, gone, func(*modelPod) bool { return true })
	justified := false
	asked := m.total(everything)
	for d := range modelDimensions {
		if frees[d] == 0 {
			continue
		}
		for _, q := range m.branch(queue, m.asking.queue) {
			if g := m.guarantee(q, d); g > 0 && m.used(q, gone)[d] < g {
				return false
			}
		}
		keeps := m.keepsTarget(queue, d, gone)
		if asked[d] > 0 && (m.lacksQuota(d, 0) || m.freesWhereShort(victim, d, gone, places)) {
			right := m.mayTake(queue, d, gone, asked[d])
			may := keeps && right
			if !may && d == device && m.settled(queue) || !keeps && !right {
				return false
			}
			justified = justified || may
		}
	}
	return justified
}

// settled reports whether any queue deserves devices at the level where the branches of two queues part.
func (m *model) settled(from int) bool {
	branch := m.branch(m.asking.queue, from)
	_, set := m.target(branch[len(branch)-1], device)
	return set
}

// freesWhereShort reports whether a pod frees something on a node that has too little.
func (m *model) freesWhereShort(victim, d int, gone podSet, places []int) bool {
	for node := range m.nodes {
		if m.lacksOn(node, d, 0, places) && m.frees(victim, gone, func(pod *modelPod) bool { return pod.node == node })[d] > 0 {
			return true
		}
	}
	return false
}

func (m *model) mayTake(from, d int, gone podSet, asked int) bool {
	set := false
	for _, q := range m.branch(m.asking.queue, from) {
		var target int
		if target, set = m.target(q, d); m.used(q, gone)[d]+asked > target {
			return false
		}
	}
	return set
}

// keepsTarget reports whether a queue that loses pods still holds what it deserves.
func (m *model) keepsTarget(from, d int, gone podSet) bool {
	for _, q := range m.branch(from, m.asking.queue) {
		if target, set := m.target(q, d); set && m.used(q, gone)[d] < target {
			return false
		}
	}
	return true
}

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
