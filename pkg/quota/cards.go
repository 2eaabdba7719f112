package quota

import (
	"fmt"
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cards returns the most cards of each name that a queue may use, as its annotation
// volcano.sh/card.quota lists them; nil without that annotation. The error says where the
// annotation is wrong.
func Cards(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	text, carries := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]
	if !carries {
		return nil, nil
	}
	numbers, err := card.Numbers(text)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong %w", schedulingv1beta1.CardQuotaAnnotation, err)
	}
	cards := make(ledger.Amounts, 0, len(numbers))
	for _, n := range numbers {
		if strings.Contains(n.Card, "|") {
			return nil, fmt.Errorf("its annotation %s lists %q, which are several cards: give each one a number of its own", schedulingv1beta1.CardQuotaAnnotation, n.Card)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: n.Card})
		cards = append(cards, ledger.Entry{Dimension: o, Amount: ledger.Units(n.Count)})
	}
	slices.SortFunc(cards, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return cards, nil
}
