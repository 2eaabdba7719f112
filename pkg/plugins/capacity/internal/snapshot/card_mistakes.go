// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/quota"
)

// annotationWith returns which annotation of a queue lists a card.
func (s *Snapshot) annotationWith(queue ledger.QueueID, card ledger.Ordinal) string {
	switch {
	case s.Ledger.Capability(queue, card).Set:
		return schedulingv1beta1.CardQuotaAnnotation
	case s.Ledger.Guarantee(queue, card).Set:
		return schedulingv1beta1.CardGuaranteeAnnotation
	default:
		return schedulingv1beta1.CardDeservedAnnotation
	}
}

// findContradiction finds annotations for cards that contradict each other.
func (s *Snapshot) findContradiction(queue string) {
	if c, found := quota.ContradictionOfCards(s.queues[queue].cards); found {
		s.mistakes.found.ContradictoryCards(queue, s.Dimensions.Dimension(c.Card),
			report.AnnotatedCards{Annotation: c.Annotation, Count: c.Number}, report.AnnotatedCards{Annotation: c.Bound, Count: c.Limit})
	}
}

// findCardsNotListed finds cards that a queue is owed, and that its pods must not use. A queue that has queues below it
// may be owed cards that only their lists contain.
func (s *Snapshot) findCardsNotListed(queue ledger.QueueID) {
	lister, lists := s.Ledger.CardLister(queue)
	if !lists || lister != queue && !s.Ledger.Leaf(queue) {
		return
	}
	name, by := s.Ledger.Name(queue), s.Ledger.Name(lister)
	if !s.queues[by].listsCards {
		by = "" // a card quota is required, and nobody has one
	}
	owed := s.queues[name].cards
	for _, list := range []struct {
		annotation string
		amounts    ledger.Amounts
	}{{schedulingv1beta1.CardDeservedAnnotation, owed.Deserved}, {schedulingv1beta1.CardGuaranteeAnnotation, owed.Guarantee}} {
		var cards []string
		for _, e := range list.amounts {
			if e.Amount.Sign() > 0 && !s.Ledger.Capability(lister, e.Dimension).Set {
				cards = append(cards, s.Dimensions.Dimension(e.Dimension).Name)
			}
		}
		if len(cards) > 0 {
			s.mistakes.found.CardsNotListed(name, by, list.annotation, cards)
		}
	}
}
