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

// CardAnnotations lists the queue annotations for cards: the capability, deserved and guarantee of [Limits].
var CardAnnotations = [...]string{
	schedulingv1beta1.CardQuotaAnnotation, schedulingv1beta1.CardDeservedAnnotation, schedulingv1beta1.CardGuaranteeAnnotation,
}

// Cards returns the number of cards of each name in one of the CardAnnotations of a queue, sorted by dimension. It is nil if the queue
// has no such annotation. It is empty but not nil if the annotation lists no card. The error names the position of the mistake.
func Cards(queue *schedulingv1beta1.Queue, annotation string, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	text, exists := queue.Annotations[annotation]
	if !exists {
		return nil, nil
	}
	numbers, err := card.Numbers(text)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong %w", annotation, err)
	}
	cards := make(ledger.Amounts, 0, len(numbers))
	for _, n := range numbers {
		if strings.Contains(n.Card, "|") {
			return nil, fmt.Errorf("its annotation %s lists %q, which names several cards: give each card a number of its own", annotation, n.Card)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: n.Card})
		cards = append(cards, ledger.Entry{Dimension: o, Amount: ledger.Units(n.Count)})
	}
	slices.SortFunc(cards, byDimension)
	return cards, nil
}

func byDimension(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) }
