// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
)

// nodeOrder is Volcano's NodeOrderFn: nodes with the cards that a pod prefers score higher. Nodes with devices that did not get
// ready lately score lower.
func (p *plugin) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	pod := p.snapshot.Known(task.Pod)
	if pod == nil {
		return 0, nil
	}
	variant := pod
	if pod.RequestsExtended() {
		if variant = pod.On(dra.Served(node.Node)); variant == nil {
			return 0, nil
		}
	}
	score := p.cards.Score(variant, node.Name)
	if position, ok := p.snapshot.CardPosition(variant); ok {
		score = p.cards.ScoreOf(position)
	}
	if p.devices != nil && p.devices.Scores() {
		if placement := placementFor(p.existingPlacements(task), variant); placement != nil && placement.devices != nil {
			score += p.devices.Score(placement.devices, node.Name)
		}
	}
	return score, nil
}
