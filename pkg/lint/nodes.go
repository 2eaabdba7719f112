// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/problems"
)

// checkNodes finds nodes whose labels do not identify their cards.
func (w *world) checkNodes() {
	for _, node := range w.Nodes {
		read := card.Read(node, w.settings.CardResources)
		if message := problems.CardsOfNode(read.Problems); message != "" {
			w.add(problems.CardsNotReadReason, Ref{Kind: Nodes, Name: node.Name}, Path{"metadata", "labels"}, message)
		}
	}
}
