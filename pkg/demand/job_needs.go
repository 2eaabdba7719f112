// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Group describes the PodGroup of a job.
type Group struct {
	// MinMember is the minimum number of pods of the job.
	MinMember int
	// Pods is the number of existing pods of the job.
	Pods int
	// Annotations are the annotations of the PodGroup.
	Annotations map[string]string
	// Job returns the Volcano Job that creates the pods, or nil for other creators. The error says why the Job is unknown.
	Job func() (*batchv1alpha1.Job, error)
	// Priority returns the value of a PriorityClass.
	Priority func(class string) int32
}

// Needs is the minimum that a job needs, in addition to what it has.
type Needs struct {
	Amounts ledger.Amounts
	// Choices and Splits are the devices and the cards that pods may choose among.
	Choices []Choice
	Splits  []ledger.Split
	// Unknown is an unknown resource that the job requests. Its name is empty if there is none.
	Unknown UnknownResourceError
	// Any says that the job asks for devices or cards. Devices says that it has claims or claim templates. Cards says that it asks for
	// cards.
	Any, Devices, Cards bool
}

// Either returns what pods may choose: of each dimension as much as if all of them chose it.
func (n *Needs) Either() ledger.Amounts {
	var either ledger.Amounts
	add := func(each ledger.Amounts, times int64) {
		if all, err := each.Times(times); err == nil { // as much as cannot be counted fits nowhere
			either = Sum(either, all)
		}
	}
	for i := range n.Choices {
		add(n.Choices[i].most(), n.Choices[i].Pods)
	}
	for _, split := range n.Splits {
		for _, o := range split.Among {
			add(ledger.Amounts{{Dimension: o, Amount: ledger.Units(split.Each)}}, split.Shares)
		}
	}
	return either
}

// CardsError says that the cards in the annotations of a job are wrong.
type CardsError struct{ error }

// Unwrap returns the cause.
func (e CardsError) Unwrap() error { return e.error }

// JobNeeds returns the minimum of devices and cards that a job needs, in addition to the charges of its pods. It uses the pods
// if there are enough of them. Otherwise, it uses the templates of the pods, or the annotation volcano.sh/card.request. devices
// says that claims are served. The error says why the needs cannot be counted. It is a CardsError for cards.
func (c *Counter) JobNeeds(books *ledger.Ledger, group Group, pods JobPods, devices bool) (Needs, error) {
	needs := Needs{Amounts: pods.Needed, Choices: pods.Choices, Any: pods.Any, Devices: pods.Devices}
	if group.Pods >= group.MinMember && group.Pods > 0 {
		needs.addCards(pods.Cards)
		return needs, nil
	}
	job, err := group.Job()
	if err != nil {
		return needs, err
	}
	cards, request, err := c.cardsBeforePods(group, job)
	if err != nil {
		return needs, CardsError{err}
	}
	if job != nil && devices {
		areCards, err := c.addTemplates(books, &needs, group, job, pods.Charged)
		if err != nil {
			return Needs{}, err
		}
		if areCards {
			request = Least{}
		}
	}
	switch { // the pods are being created
	case !cards.Empty():
		pods.Cards = cards.Without(pods.ChargedCards)
	case !request.Empty():
		pods.Cards = request.Without(Sum(pods.ChargedCards, Sum(pods.Charged, needs.Amounts)))
	}
	needs.addCards(pods.Cards)
	return needs, nil
}

// addTemplates replaces the devices of the existing pods by the devices in the job's templates. It reports whether any of these are cards.
func (c *Counter) addTemplates(books *ledger.Ledger, needs *Needs, group Group, job *batchv1alpha1.Job, charged ledger.Amounts) (areCards bool, err error) {
	known := c.templatesOf(job, group.Priority)
	minimum, err := c.Claims.ofNamed(job.Namespace, known.claims, c.reader)
	if err == nil {
		err = cmp.Or(known.extendedErr, minimum.addAll(&known.extended))
	}
	if err != nil {
		return false, err
	}
	needs.Amounts, needs.Choices = minimum.Amounts.Beyond(charged, nil), withoutCharged(minimum.Choices, charged.Beyond(minimum.Amounts, nil))
	for _, claim := range minimum.Named {
		if !books.Charged(claim.Part) {
			needs.Amounts = Sum(needs.Amounts, claim.Part.Amounts())
			needs.Choices, needs.Amounts = claim.addChoices(needs.Choices, needs.Amounts)
		}
	}
	needs.Devices = needs.Devices || len(minimum.Amounts)+len(minimum.Choices)+len(minimum.Named) > 0
	needs.Any = needs.Any || len(minimum.Amounts)+len(minimum.Choices) > 0 || slices.ContainsFunc(minimum.Named, (*Claim).asksForDevices)
	return minimum.hasCards(c.Dimensions), nil
}

func (n *Needs) addCards(cards Least) {
	n.Amounts, n.Splits = Sum(n.Amounts, cards.Amounts), cards.Splits
	n.Cards = !cards.Empty()
	n.Any = n.Any || n.Cards
}

// cardsBeforePods returns the total cards of a job without enough pods: by the templates of the Volcano Job, and by the
// annotation of the PodGroup. The annotation counts only if the templates ask for no cards.
func (c *Counter) cardsBeforePods(group Group, job *batchv1alpha1.Job) (templates, request Least, err error) {
	// Always parse the annotation, to report mistakes in it.
	if request, err = c.requestOf(group.Annotations); err == nil && job != nil {
		known := c.templatesOf(job, group.Priority)
		templates, err = known.cards, known.cardsErr
	}
	return templates, request, err
}
