// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"math"

	"github.com/devicequota/devicequota/pkg/demand"
)

// Score prefers nodes with the card that the pod names first: they score 100 times the weight. Each further card scores
// half as much as the one before. Without names, all nodes score 0.
func (s *Session) Score(pod *demand.Pod, node string) float64 {
	if pod.Cards == nil || len(pod.Cards.Names) == 0 {
		return 0
	}
	position, ok := pod.Cards.Position(s.Fleet.Node(node))
	if !ok {
		return 0
	}
	return s.ScoreOf(position)
}

// ScoreOf returns the score of a node with the card at a position in the list that a pod names.
func (s *Session) ScoreOf(position int) float64 {
	return s.Weight * 100 * math.Pow(2, -float64(position))
}
