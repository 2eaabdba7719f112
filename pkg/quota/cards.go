// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cards returns the card quota of a queue: the number of cards of each name in its annotation
// volcano.sh/card.quota. It is nil if the queue has no such annotation, and not nil if the annotation
// lists no card. The error says where the annotation is wrong.
func Cards(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	text, exists := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]
	if !exists {
		return nil, nil
	}
	numbers, err := card.Numbers(text)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong %w", schedulingv1beta1.CardQuotaAnnotation, err)
	}
	cards := make(ledger.Amounts, 0, len(numbers))
	for _, n := range numbers {
		if strings.Contains(n.Card, "|") {
			return nil, fmt.Errorf("its annotation %s lists %q, which names several cards: give each card a number of its own", schedulingv1beta1.CardQuotaAnnotation, n.Card)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: n.Card})
		cards = append(cards, ledger.Entry{Dimension: o, Amount: ledger.Units(n.Count)})
	}
	slices.SortFunc(cards, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return cards, nil
}
