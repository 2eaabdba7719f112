// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// strategy is how GPU nodes are scored for a pod.
type strategy int

const (
	// mostAllocated prefers nodes whose quota is nearly used up.
	mostAllocated strategy = iota
	// leastAllocated prefers nodes whose quota has the most room.
	leastAllocated
)

var strategies = map[string]strategy{"most-allocated": mostAllocated, "least-allocated": leastAllocated}

// parseStrategy returns the strategy of that name. If there is none, it returns the default and the name.
func parseStrategy(name string) (s strategy, unknown string) {
	s, found := strategies[name]
	if !found {
		return mostAllocated, name
	}
	return s, ""
}

// nodeOrder is Volcano's NodeOrderFn. Several goroutines call it at the same time.
func (p *plugin) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	a := p.accounts[node.Name]
	if a == nil && !p.config.preferPlain {
		return 0, nil
	}
	facts := p.cache.facts(task.Pod)
	if !facts.counted {
		return 0, nil
	}
	score := p.config.weight
	if a != nil {
		score *= p.config.score(facts.strategy, a, facts.requests)
	}
	if logger := klog.V(5); logger.Enabled() {
		logger.InfoS("Scored a node for a pod without GPU", "plugin", Name, "pod", klog.KObj(task.Pod), "node", node.Name, "score", score)
	}
	return score, nil
}

// score returns a number from 0 to 1: the weighted mean of the ranks of all requested resources.
func (c *config) score(s strategy, a *account, requests []amount) float64 {
	sum, weights := 0.0, 0.0
	for i, requested := range requests {
		weight := c.resources[i].weight
		if requested == 0 || weight == 0 {
			continue
		}
		sum += weight * s.rank(a.used[i]+requested, a.facts.quotas[i])
		weights += weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// rank returns the fraction of a quota that is used or, for leastAllocated, free. An exceeded quota
// counts as full; only preemption asks for its rank.
func (s strategy) rank(used, quota amount) float64 {
	full := 1.0
	if used < quota {
		full = float64(used) / float64(quota)
	}
	if s == leastAllocated {
		return 1 - full
	}
	return full
}
