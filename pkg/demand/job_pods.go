// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// JobPod is a pod of a job that has a node or waits for one.
type JobPod struct {
	*Pod
	// Allocated says that the pod has a node.
	Allocated bool
	// Elsewhere says that another queue than that of the job is charged for the pod.
	Elsewhere bool
	// Gated says that a scheduling gate holds the pod back.
	Gated bool
}

// JobPods is the devices and cards that the pods of a job have and want, as far as the pods exist.
type JobPods struct {
	// Any says that some pod asks for devices or cards.
	Any bool
	// Devices says that some pod has claims.
	Devices bool
	// Needed is the devices of the minimum that nobody is charged for yet, Cards the cards.
	Needed ledger.Amounts
	Cards  Least
	// Choices are the devices of the minimum that nobody is charged for yet, and that pods may choose among.
	Choices []Choice
	// Elastic is the devices and cards that the job's queue is charged for beyond the minimum of the job.
	Elastic ledger.Amounts
	// Charged is the devices, ChargedCards the cards that pods of the job are charged.
	Charged, ChargedCards ledger.Amounts
	// Request is all devices that the job wants, or has in its queue, and the cards that it wants.
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
		sum.Devices = sum.Devices || pod.HasClaims
		sum.Any = sum.Any || pod.AsksForDevices()
		sum.addAlternatives(pod, least)
		if err := sum.addCards(pod, least); err != nil {
			errs = append(errs, err)
		}
		for _, claim := range pod.Claims {
			if !seen[claim.Part] {
				seen[claim.Part] = true
				sum.addClaim(claim, books.Charged(claim.Part), least, pod)
			}
		}
		sum.addAwaited(pod, least)
	}
	return sum, errs
}

// addAlternatives adds the extended resources of a pod that may get them in different ways. What all ways have in common is
// needed in any case.
func (sum *JobPods) addAlternatives(pod *JobPod, least bool) {
	variants := pod.Alternatives()
	if len(variants) == 0 {
		return
	}
	var alternatives []ledger.Amounts
	for _, v := range variants {
		alternatives = append(alternatives, v.ways()...)
	}
	sum.Request = Sum(sum.Request, alternatives[0])
	if !least || pod.Gated {
		return
	}
	all := common(alternatives)
	sum.Needed = Sum(sum.Needed, all)
	sum.Choices = addChoice(sum.Choices, Choice{Pods: 1, Alternatives: beyond(alternatives, all)})
}

// ways returns what a variant may be charged for its extended resources and cards: one list for each card that it may get.
func (p *Pod) ways() []ledger.Amounts {
	var amounts ledger.Amounts
	if p.variantOf.claim != nil {
		for _, claim := range p.Claims {
			if claim.extended != nil {
				amounts = Sum(amounts, claim.Part.Amounts())
			}
		}
	}
	if p.Cards == nil {
		return []ledger.Amounts{amounts}
	}
	return p.Cards.ways(amounts)
}

// beyond returns what each alternative has beyond what all have in common. It is nil if no alternative has more.
func beyond(alternatives []ledger.Amounts, common ledger.Amounts) []ledger.Amounts {
	var rest []ledger.Amounts
	some := false
	for _, a := range alternatives {
		more := a.Beyond(common, nil)
		some = some || len(more) > 0
		rest = append(rest, more)
	}
	if !some {
		return nil
	}
	return rest
}

// maxChoices is how many different choices of a job count. If its pods choose in more ways, it may enter its queue although some of them have to
// wait there. Each choice is compared with all others, and with what the queue has room for, in every cycle in which the job waits.
const maxChoices = 64

// addChoice adds a choice, to an equal one if there is one. A choice without alternatives is none.
func addChoice(choices []Choice, added Choice) []Choice {
	if len(added.Alternatives) == 0 {
		return choices
	}
	for i := range choices {
		if slices.EqualFunc(choices[i].Alternatives, added.Alternatives, slices.Equal) {
			choices[i].Pods += added.Pods
			return choices
		}
	}
	if len(choices) >= maxChoices {
		return choices
	}
	return append(choices, added)
}

func (sum *JobPods) addClaim(claim *Claim, charged, least bool, pod *JobPod) {
	amounts := claim.Part.Amounts()
	if charged {
		sum.Charged = Sum(sum.Charged, amounts)
	}
	if pod.Elsewhere {
		return
	}
	sum.Request = Sum(sum.Request, amounts)
	switch {
	case least && !charged && !pod.Gated:
		sum.Needed = Sum(sum.Needed, amounts)
		sum.Choices, sum.Needed = claim.addChoices(sum.Choices, sum.Needed)
	case !least && charged:
		sum.Elastic = Sum(sum.Elastic, amounts)
	}
}

// addChoices adds what a claim may choose among. What all alternatives of a choice have in common is needed in any case.
func (c *Claim) addChoices(choices []Choice, needed ledger.Amounts) ([]Choice, ledger.Amounts) {
	for _, part := range c.Choices {
		all := common(part.Alternatives())
		needed = Sum(needed, all)
		choices = addChoice(choices, Choice{Pods: 1, Alternatives: beyond(part.Alternatives(), all)})
	}
	return choices, needed
}

// addAwaited adds the claims of a waiting pod that do not exist yet.
func (sum *JobPods) addAwaited(pod *JobPod, least bool) {
	if pod.Allocated {
		return
	}
	sum.Request = Sum(sum.Request, pod.awaited)
	if least && !pod.Gated {
		sum.Needed = Sum(sum.Needed, pod.awaited)
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
		if !least && !pod.Elsewhere {
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
