// SPDX-License-Identifier: Apache-2.0

package capacity

import resourcev1 "k8s.io/api/resource/v1"

// A model of evictions in simple arithmetic. It examines all sets of victims and all placements.

// Dimensions of the model.
const (
	device = iota
	core
	modelDimensions
)

type modelQueue struct {
	name string
	// parent is -1 for root.
	parent int
	// deserved, guarantee, and capability are -1 if the queue lists nothing.
	deserved, guarantee, capability [modelDimensions]int
	irreclaimable                   bool
}

type modelJob struct {
	queue, minimum, priority int
}

type modelPod struct {
	job, node, cores int
	// claim is -1 for none.
	claim, created               int
	protected, leaving, budgeted bool
}

type modelClaim struct{ first, devices int }

type modelNode struct{ cores, devices int }

// modelAsk is a waiting pod.
type modelAsk struct{ needs [modelDimensions]int }

type model struct {
	nodes  []modelNode
	queues []modelQueue
	jobs   []modelJob
	pods   []modelPod
	claims []modelClaim
	// asking is the job of the asking pods.
	asking modelJob
	asks   []modelAsk
	// budget is the number of pods covered by the PodDisruptionBudget that may go.
	budget     int
	wholeGangs bool
	// stock has the slices of the nodes.
	stock []*resourcev1.ResourceSlice
}

// podSet is a bit set of pods.
type podSet uint

func (s podSet) has(i int) bool { return s&(1<<i) != 0 }

// holds reports whether a pod is there and stays.
func (m *model) holds(i int, gone podSet) bool { return !m.pods[i].leaving && !gone.has(i) }

// held returns the claims and cores of those matching pods that stay.
func (m *model) held(gone podSet, match func(*modelPod) bool) (sum [modelDimensions]int) {
	claims := map[int]bool{}
	for i := range m.pods {
		pod := &m.pods[i]
		if !m.holds(i, gone) || !match(pod) {
			continue
		}
		sum[core] += pod.cores
		if pod.claim >= 0 && !claims[pod.claim] {
			claims[pod.claim] = true
			sum[device] += m.claims[pod.claim].devices
		}
	}
	return sum
}

func (m *model) within(q, ancestor int) bool {
	for ; q >= 0; q = m.queues[q].parent {
		if q == ancestor {
			return true
		}
	}
	return false
}

func (m *model) used(q int, gone podSet) [modelDimensions]int {
	return m.held(gone, func(pod *modelPod) bool { return m.within(m.jobs[pod.job].queue, q) })
}

func (m *model) free(node int, gone podSet) [modelDimensions]int {
	held := m.held(gone, func(pod *modelPod) bool { return pod.node == node })
	return [modelDimensions]int{device: m.nodes[node].devices - held[device], core: m.nodes[node].cores - held[core]}
}

const infinite = 1 << 20

func (m *model) children(q int) (all []int) {
	for i := range m.queues {
		if m.queues[i].parent == q {
			all = append(all, i)
		}
	}
	return all
}

func (m *model) capability(q, d int) int {
	if c := m.queues[q].capability[d]; c >= 0 {
		return c
	}
	return infinite
}

func (m *model) guarantee(q, d int) int {
	return min(max(0, m.queues[q].guarantee[d]), m.capability(q, d))
}

func (m *model) reserved(q, d int) int {
	below := 0
	for _, child := range m.children(q) {
		below += m.reserved(child, d)
	}
	return max(m.guarantee(q, d), min(below, m.capability(q, d)))
}

func (m *model) limit(q, d int) int {
	above := infinite
	if parent := m.queues[q].parent; parent >= 0 {
		above = m.limit(parent, d)
	} else if d == core {
		above = 0
		for _, node := range m.nodes {
			above += node.cores
		}
	}
	if above == infinite {
		return m.capability(q, d)
	}
	all := 0
	for _, sibling := range m.children(m.queues[q].parent) {
		all += m.reserved(sibling, d)
	}
	left := min(max(0, above-all)+m.reserved(q, d), max(above, m.guarantee(q, d)))
	return min(left, m.capability(q, d))
}

// target returns what a queue may take back and keep, false if it is not set.
func (m *model) target(q, d int) (int, bool) {
	if m.queues[q].deserved[d] >= 0 || m.guarantee(q, d) > 0 {
		return max(min(max(0, m.queues[q].deserved[d]), m.limit(q, d)), m.guarantee(q, d)), true
	}
	for _, sibling := range m.children(m.queues[q].parent) {
		if m.queues[sibling].deserved[d] >= 0 || m.guarantee(sibling, d) > 0 {
			return 0, true
		}
	}
	return infinite, false
}

// branch returns a queue and those of its ancestors that the other queue does not share.
func (m *model) branch(q, other int) (all []int) {
	for ; q >= 0 && !m.within(other, q); q = m.queues[q].parent {
		all = append(all, q)
	}
	return all
}

// total returns the sum of what pods ask for.
func (m *model) total(match func(i int) bool) (sum [modelDimensions]int) {
	for i := range m.asks {
		for d := range sum {
			if match(i) {
				sum[d] += m.asks[i].needs[d]
			}
		}
	}
	return sum
}

func everything(int) bool { return true }

// lacksQuota and lacksNode report whether there is too little of a dimension.
func (m *model) lacksQuota(d int, gone podSet) bool {
	asked := m.total(everything)[d]
	for q := m.asking.queue; q >= 0 && asked > 0; q = m.queues[q].parent {
		if m.used(q, gone)[d]+asked > m.limit(q, d) {
			return true
		}
	}
	return false
}

func (m *model) lacksNode(d int, gone podSet, places []int) bool {
	for node := range m.nodes {
		if m.lacksOn(node, d, gone, places) {
			return true
		}
	}
	return false
}

func (m *model) lacksOn(node, d int, gone podSet, places []int) bool {
	asked := m.total(func(i int) bool { return places[i] == node })[d]
	return asked > 0 && asked > m.free(node, gone)[d]
}
