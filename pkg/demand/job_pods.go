// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"github.com/devicequota/devicequota/pkg/ledger"
)

// JobPod is a pod of a job that has a node or waits for one.
type JobPod struct {
	*Pod
	// Allocated says that the pod has a node.
	Allocated bool
	// Gated says that a scheduling gate holds the pod back.
	Gated bool
}

// JobPods is the devices and cards that the pods of a job have and want, as far as the pods exist.
type JobPods struct {
	// Any says that some pod asks for devices or cards.
	Any bool
	// Needed is the devices of the minimum that nobody is charged for yet, Cards the cards.
	Needed ledger.Amounts
	Cards  Least
	// Elastic is the devices and cards that the job has beyond its minimum.
	Elastic ledger.Amounts
	// Charged is the devices, ChargedCards the cards that pods of the job are charged.
	Charged, ChargedCards ledger.Amounts
	// Request is all devices that the job has and wants, and the cards that it wants.
	Request ledger.Amounts
}

// OfJobPods adds up the devices and cards of the pods of a job. The first pods, as many as the job needs at
// least, are its minimum: sort them so that pods with a node come first, and older pods before newer
// ones. Claims are charged as the ledger says. The errors say which pods' cards are not counted.
func OfJobPods(books *ledger.Ledger, pods []JobPod, minMember int) (JobPods, []error) {
	var sum JobPods
	var errs []error
	seen := map[*ledger.Part]bool{}
	for i := range pods {
		pod, least := &pods[i], i < minMember
		sum.Any = sum.Any || pod.HasClaims || pod.Cards != nil
		if err := sum.addCards(pod, least); err != nil {
			errs = append(errs, err)
		}
		for _, claim := range pod.Claims {
			if !seen[claim.Part] {
				seen[claim.Part] = true
				sum.addClaim(claim, books.Charged(claim.Part), least, pod.Gated)
			}
		}
	}
	return sum, errs
}

func (sum *JobPods) addClaim(claim *Claim, charged, least, gated bool) {
	amounts := claim.Part.Amounts()
	sum.Request = Sum(sum.Request, amounts)
	if charged {
		sum.Charged = Sum(sum.Charged, amounts)
	}
	switch {
	case least && !charged && !gated:
		sum.Needed = Sum(sum.Needed, amounts)
	case !least && charged:
		sum.Elastic = Sum(sum.Elastic, amounts)
	}
}

// addCards adds the cards that a pod has or wants. Least says that the pod belongs to the minimum of the job.
// The request for cards that pods have is added elsewhere, together with their resources.
func (sum *JobPods) addCards(pod *JobPod, least bool) error {
	cards := pod.Cards
	switch {
	case cards == nil:
		return nil
	case pod.Allocated:
		sum.ChargedCards = Sum(sum.ChargedCards, cards.Part.Amounts())
		if !least {
			sum.Elastic = Sum(sum.Elastic, cards.Part.Amounts())
		}
		return nil
	case pod.cardsErr != nil:
		return nil // the pod gets no cards before that is corrected
	}
	sum.Request = Sum(sum.Request, cards.Preferred())
	if !least || pod.Gated {
		return nil
	}
	return sum.Cards.Add(cards.Cards, 1)
}
