// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Contradiction is a number of cards in an annotation of a queue that is more than another annotation of the queue allows.
type Contradiction struct {
	Card ledger.Ordinal
	// Annotation has Number. Bound has Limit, which is less.
	Annotation, Bound string
	Number, Limit     ledger.Amount
}

// ContradictionOfCards returns the first contradiction among the limits of cards in the annotations of a queue; false if
// there is none. A queue deserves no more than its quota, and is guaranteed no more than either. The API server refuses the
// same in spec.dra. A card that one of the annotations does not list does not contradict the others.
func ContradictionOfCards(cards Limits) (Contradiction, bool) {
	for _, pair := range []struct {
		annotation, bound string
		numbers, limits   ledger.Amounts
	}{
		{schedulingv1beta1.CardDeservedAnnotation, schedulingv1beta1.CardQuotaAnnotation, cards.Deserved, cards.Capability},
		{schedulingv1beta1.CardGuaranteeAnnotation, schedulingv1beta1.CardDeservedAnnotation, cards.Guarantee, cards.Deserved},
		{schedulingv1beta1.CardGuaranteeAnnotation, schedulingv1beta1.CardQuotaAnnotation, cards.Guarantee, cards.Capability},
	} {
		for _, e := range pair.numbers {
			i, listed := slices.BinarySearchFunc(pair.limits, e, byDimension)
			if listed && e.Amount.Cmp(pair.limits[i].Amount) > 0 {
				return Contradiction{Card: e.Dimension, Annotation: pair.annotation, Bound: pair.bound, Number: e.Amount, Limit: pair.limits[i].Amount}, true
			}
		}
	}
	return Contradiction{}, false
}
