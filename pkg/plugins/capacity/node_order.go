// SPDX-License-Identifier: Apache-2.0

package capacity

import "volcano.sh/volcano/pkg/scheduler/api"

// nodeOrder is Volcano's NodeOrderFn: nodes with the cards that a pod prefers score higher.
func (p *plugin) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	pod := p.snapshot.Known(task.Pod)
	if pod == nil {
		return 0, nil
	}
	return p.cards.Score(pod, node.Name), nil
}
