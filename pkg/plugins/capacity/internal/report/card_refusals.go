// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// NoNodeForOtherCards refuses a pod that may choose among cards: the quota forbids some of them, and no node can take
// the pod with the others.
type NoNodeForOtherCards struct {
	QuotaExceeded
	// Others lists the cards that the quota allows.
	Others []string
	// Nodes is Volcano's summary of why no node is suitable.
	Nodes string
}

// Message implements Refusal. The summary repeats the refusal of the quota for each node with the card: this part is shortened.
func (n NoNodeForOtherCards) Message() string {
	nodes := strings.ReplaceAll(n.Nodes, n.Refusal.String(), fmt.Sprintf("no quota for <%s>", n.Dimension))
	return fmt.Sprintf("%s; there is quota for %s, but no node for the pod: %s", n.QuotaExceeded.Message(), refusals.List(n.Others), nodes)
}
