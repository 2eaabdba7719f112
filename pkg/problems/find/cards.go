// SPDX-License-Identifier: Apache-2.0

package find

import (
	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// annotationWith returns the annotation of a queue that lists a card.
func (f *Finder) annotationWith(queue ledger.QueueID, card ledger.Ordinal) string {
	switch {
	case f.Ledger.Capability(queue, card).Set:
		return schedulingv1beta1.CardQuotaAnnotation
	case f.Ledger.Guarantee(queue, card).Set:
		return schedulingv1beta1.CardGuaranteeAnnotation
	default:
		return schedulingv1beta1.CardDeservedAnnotation
	}
}

// findCardsNotListed finds cards that a queue deserves or is guaranteed although its pods must not use them. A queue with children may have
// cards that only the lists of its children contain.
func (f *Finder) findCardsNotListed(found *Found, queue ledger.QueueID) {
	lister, lists := f.Ledger.CardLister(queue)
	if !lists || lister != queue && !f.Ledger.Leaf(queue) {
		return
	}
	name, by := f.Ledger.Name(queue), f.Ledger.Name(lister)
	if !f.Queue(by).ListsCards {
		by = "" // a card quota is required, and no queue has one
	}
	owed := f.Queue(name).Cards
	for _, list := range []struct {
		annotation string
		amounts    ledger.Amounts
	}{{schedulingv1beta1.CardDeservedAnnotation, owed.Deserved}, {schedulingv1beta1.CardGuaranteeAnnotation, owed.Guarantee}} {
		var cards []string
		for _, e := range list.amounts {
			if e.Amount.Sign() > 0 && !f.Ledger.Capability(lister, e.Dimension).Set {
				cards = append(cards, f.Dimensions.Dimension(e.Dimension).Name)
			}
		}
		if len(cards) > 0 {
			found.Problems.CardsNotListed(name, by, list.annotation, cards)
		}
	}
}
