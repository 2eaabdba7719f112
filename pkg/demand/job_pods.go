// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// JobPod is a pod of a job that has a node or waits for one.
type JobPod struct {
	*Pod
	// Allocated says that the pod has a node.
	Allocated bool
	// Elsewhere says that a queue other than the job's queue is charged for the pod.
	Elsewhere bool
	// Gated says that a scheduling gate holds the pod back.
	Gated bool
}

// JobPods sums up the devices and cards that the existing pods of a job have and want.
type JobPods struct {
	// Any says that some pod asks for devices or cards.
	Any bool
	// Devices says that some pod has claims.
	Devices bool
	// Needed and Cards are the uncharged devices and cards of the minimum.
	Needed ledger.Amounts
	Cards  Least
	// Choices are the uncharged devices of the minimum that pods may choose among.
	Choices []Choice
	// Elastic is the devices and cards beyond the job's minimum that the job's queue is charged for.
	Elastic ledger.Amounts
	// Charged and ChargedCards are the devices and the cards charged for pods of the job.
	Charged, ChargedCards ledger.Amounts
	// Request is the devices that the job wants or has in its queue, and the cards that it wants. Either is what its pods want and may choose
	// instead of something else.
	Request, Either ledger.Amounts
}

// OfJobPods sums up the devices and cards of the pods of a job. The first minMember pods are the minimum. Sort pods
// with a node before others, and older pods before newer ones. The ledger decides which claims are charged. The errors
// name the pods whose cards are not counted.
func OfJobPods(books *ledger.Ledger, pods []JobPod, minMember int) (JobPods, []error) {
	var sum JobPods
	var errs []error
	seen := map[*ledger.Part]bool{}
	uids := sync.OnceValue(func() map[types.UID]bool { return uidsOf(pods) })
	for i := range pods {
		pod, least := &pods[i], i < minMember
		sum.Devices = sum.Devices || pod.HasClaims
		sum.Any = sum.Any || pod.AsksForDevices()
		sum.addAlternatives(pod, least)
		if err := sum.addCards(pod, least); err != nil {
			errs = append(errs, err)
		}
		for _, claim := range pod.Claims {
			if len(pods) > 1 {
				if seen[claim.Part] {
					continue
				}
				seen[claim.Part] = true
			}
			sum.addClaim(claim, books.Charged(claim.Part), least, pod)
			if !least && pod.pays(books, claim, uids) {
				sum.Elastic = Sum(sum.Elastic, claim.Part.Amounts())
			}
		}
		sum.addAwaited(pod, least)
	}
	return sum, errs
}

// pays reports whether the queue of the job pays for a claim of the pod, and holds it through a pod of the job. This is so for only one of
// the jobs whose pods share the claim. uids returns the pods of the job.
func (p *JobPod) pays(books *ledger.Ledger, claim *Claim, uids func() map[types.UID]bool) bool {
	queue, payer, charged := books.Payer(claim.Part)
	return charged && !p.Elsewhere && queue == p.Queue && (types.UID(payer) == p.Object.UID || uids()[types.UID(payer)])
}

// addAlternatives adds the extended resources of a pod that may get them in different ways. The amounts common to all ways
// are needed in any case.
func (sum *JobPods) addAlternatives(pod *JobPod, least bool) {
	variants := pod.Alternatives()
	if len(variants) == 0 {
		return
	}
	var alternatives []ledger.Amounts
	for _, v := range variants {
		alternatives = append(alternatives, v.ways()...)
	}
	all := common(alternatives)
	choice := Choice{Pods: 1, Alternatives: beyond(alternatives, all)}
	sum.Request, sum.Either = Sum(sum.Request, all), Sum(sum.Either, choice.most())
	if !least || pod.Gated {
		return
	}
	sum.Needed = Sum(sum.Needed, all)
	sum.Choices = addChoice(sum.Choices, choice)
}

// ways returns the possible charges of a variant for its extended resources and cards, one for each card that it may get.
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

// beyond returns the excess of each alternative over the common amounts. It is nil if there is no excess.
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

// maxChoices is the maximum number of different choices of a job that count. With more choices, a job may enter its queue although some pods
// have to wait there. Each waiting job compares its choices with each other and with the room of the queue in every cycle.
const maxChoices = 64

// addChoice adds a choice, and merges equal choices. It ignores a choice without alternatives.
func addChoice(choices []Choice, added Choice) []Choice {
	if len(added.Alternatives) == 0 {
		return choices
	}
	added = added.summed()
	for i := range choices {
		if choices[i].sum == added.sum && slices.EqualFunc(choices[i].Alternatives, added.Alternatives, slices.Equal) {
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
	if len(claim.Choices) > 0 { // no devices are picked
		sum.Request, sum.Either = Sum(sum.Request, claim.common), Sum(sum.Either, claim.either)
	}
	if least && !charged && !pod.Gated {
		sum.Needed = Sum(sum.Needed, amounts)
		sum.Choices, sum.Needed = claim.addChoices(sum.Choices, sum.Needed)
	}
}

// addChoices adds the choices of a claim. The amounts common to all alternatives are needed in any case.
func (c *Claim) addChoices(choices []Choice, needed ledger.Amounts) ([]Choice, ledger.Amounts) {
	if len(c.Choices) == 0 { // the devices are picked
		return choices, needed
	}
	for _, choice := range c.differing {
		choices = addChoice(choices, choice)
	}
	return choices, Sum(needed, c.common)
}

// addAwaited adds the claims of a waiting pod that are not created yet.
func (sum *JobPods) addAwaited(pod *JobPod, least bool) {
	if pod.Allocated {
		return
	}
	sum.Request = Sum(sum.Request, pod.awaited)
	if least && !pod.Gated {
		sum.Needed = Sum(sum.Needed, pod.awaited)
	}
}

// addCards adds the cards that a pod has or wants. least says that the pod belongs to the minimum of the job. The
// request for held cards is added elsewhere, together with the resources of the pods.
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
		return nil // the pod gets no cards until the mistake is corrected
	}
	for i := range cards.Requests {
		if request := &cards.Requests[i]; len(request.Among) == 1 {
			sum.Request = Sum(sum.Request, request.as(request.Among[0]))
		} else {
			for _, among := range request.Among {
				sum.Either = Sum(sum.Either, request.as(among))
			}
		}
	}
	if !least || pod.Gated {
		return nil
	}
	return sum.Cards.Add(cards.Cards, 1)
}
