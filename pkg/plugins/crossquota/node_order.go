// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

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
