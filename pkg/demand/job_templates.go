// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Minimum is the devices that the minimum of a job asks for, by the templates of its pods.
type Minimum struct {
	// Amounts is the sum over the claims that will be made from claim templates. A choice among alternatives
	// counts with what all alternatives have in common.
	Amounts ledger.Amounts
	// Choices has what pods choose in addition to Amounts.
	Choices []Choice
	// Named has the claims that the pod templates refer to by name, each claim once.
	Named []*Claim
}

// Choice is a choice that each of a number of pods makes.
type Choice struct {
	Pods int64
	// Alternatives has the amounts of each alternative beyond what all of them have in common.
	Alternatives []ledger.Amounts
}

// withoutCharged returns what remains to be chosen by pods if spare has been charged for those that have chosen.
func withoutCharged(choices []Choice, spare ledger.Amounts) []Choice {
	var rest []Choice
	for _, choice := range choices {
		for _, alternative := range choice.Alternatives {
			chosen := spare.Contains(alternative, choice.Pods)
			if taken, err := alternative.Times(chosen); err == nil && chosen > 0 {
				spare = spare.Beyond(taken, nil)
				choice.Pods -= chosen
			}
		}
		if choice.Pods > 0 {
			rest = append(rest, choice)
		}
	}
	return rest
}

// OfJob returns the devices that the minimum of a Volcano Job asks for before its pods exist. Priority
// returns the value of a PriorityClass. The error names the object that is missing or wrong.
func (cs *Claims) OfJob(job *batchv1alpha1.Job, reader dra.ClaimReader, priority func(class string) int32) (Minimum, error) {
	var minimum Minimum
	for i, pods := range MinimumPods(job, priority) {
		if pods == 0 {
			continue
		}
		for _, claims := range claimsOfSpec(&job.Spec.Tasks[i].Template.Spec) {
			if err := minimum.add(job.Namespace, claims, int64(pods), reader, cs); err != nil {
				return Minimum{}, fmt.Errorf("task %s: %w", job.Spec.Tasks[i].Name, err)
			}
		}
	}
	return minimum, nil
}

// cardsOfJob returns the cards that the minimum of a Volcano Job asks for before its pods exist, without those that pods may get
// in other ways, see extendedOfJob. A task that names only cards that no node has counts as none: its pods are created, wait, and
// report the reason, so that an autoscaler can add a node.
func (c *Counter) cardsOfJob(job *batchv1alpha1.Job, priority func(class string) int32) (Least, error) {
	var least Least
	for i, pods := range MinimumPods(job, priority) {
		template := &job.Spec.Tasks[i].Template
		spec := Defaulted(&template.Spec)
		sets := c.setsOf(spec)
		if pods == 0 || len(sets) > 1 {
			continue
		}
		cards, err := CardsOf(template.Annotations, spec, sets[0], c.Fleet, c.Dimensions)
		if errors.As(err, new(*UnknownCardError)) {
			continue
		}
		if err == nil && cards != nil {
			err = least.Add(cards, int64(pods))
		}
		if err != nil {
			return Least{}, fmt.Errorf("task %s: %w", job.Spec.Tasks[i].Name, err)
		}
	}
	return least, nil
}

// hasCards reports whether any of the devices stand for cards.
func (m *Minimum) hasCards(dimensions *ledger.Dimensions) bool {
	isCard := func(e ledger.Entry) bool { return dimensions.Dimension(e.Dimension).Kind == ledger.Card }
	someAre := func(amounts ledger.Amounts) bool { return slices.ContainsFunc(amounts, isCard) }
	return someAre(m.Amounts) || slices.ContainsFunc(m.Choices, func(c Choice) bool { return slices.ContainsFunc(c.Alternatives, someAre) }) ||
		slices.ContainsFunc(m.Named, func(claim *Claim) bool { return someAre(claim.Part.Amounts()) })
}

// templateClaims is that pods from a template refer to a claim, or so many times to a claim template.
type templateClaims struct {
	name  string
	named bool
	times int64
}

// claimsOfSpec returns to what pods with a spec refer, each once: they may refer to one claim template thousands of times.
func claimsOfSpec(spec *corev1.PodSpec) []*templateClaims {
	type key struct {
		name  string
		named bool
	}
	var all []*templateClaims
	known := map[key]*templateClaims{}
	for i := range spec.ResourceClaims {
		var to key
		switch ref := &spec.ResourceClaims[i]; {
		case ref.ResourceClaimName != nil:
			to = key{*ref.ResourceClaimName, true}
		case ref.ResourceClaimTemplateName != nil:
			to = key{*ref.ResourceClaimTemplateName, false}
		default:
			continue
		}
		if known[to] == nil {
			known[to] = &templateClaims{name: to.name, named: to.named}
			all = append(all, known[to])
		}
		known[to].times++
	}
	return all
}

func (m *Minimum) add(namespace string, refs *templateClaims, pods int64, reader dra.ClaimReader, claims *Claims) error {
	if refs.named {
		claim, err := claims.named(namespace, refs.name, reader)
		if err == nil && !slices.Contains(m.Named, claim) {
			m.Named = append(m.Named, claim)
		}
		return err
	}
	each, choices, err := claims.ofTemplate(namespace, refs.name, reader)
	pods *= refs.times
	for _, alternatives := range choices {
		m.Choices = addChoice(m.Choices, Choice{Pods: pods, Alternatives: alternatives})
	}
	for _, e := range each {
		var all ledger.Amount
		if err == nil {
			all, err = e.Amount.Times(pods)
		}
		if err == nil {
			m.Amounts, err = m.Amounts.Plus(e.Dimension, all)
		}
	}
	return err
}

func (cs *Claims) named(namespace, name string, reader dra.ClaimReader) (*Claim, error) {
	return cs.checked(dra.ClaimNamed(namespace, name, reader))
}

// ofTemplate returns what a claim from a template asks for at least, and the choices that come on top.
func (cs *Claims) ofTemplate(namespace, name string, reader dra.ClaimReader) (ledger.Amounts, [][]ledger.Amounts, error) {
	template, err := dra.TemplateNamed(namespace, name, reader)
	if err != nil {
		return nil, nil, err
	}
	object := "ResourceClaimTemplate " + namespace + "/" + name
	usage, err := dra.Requested(&template.Spec.Spec)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", object, err)
	}
	if err := dra.CheckClasses(object, &usage, cs.catalog); err != nil {
		return nil, nil, err
	}
	amounts, choices, _, err := cs.count(usage)
	for _, alternatives := range choices {
		least := common(alternatives)
		if err == nil {
			amounts, err = amounts.PlusAll(least)
		}
		for i := range alternatives {
			alternatives[i] = alternatives[i].Beyond(least, nil)
		}
	}
	return amounts, choices, err
}

// common returns what all alternatives have in common.
func common(alternatives []ledger.Amounts) ledger.Amounts {
	var least ledger.Amounts
	for _, e := range alternatives[0] {
		for _, other := range alternatives[1:] {
			if amount := other.Of(e.Dimension); amount.Cmp(e.Amount) < 0 {
				e.Amount = amount
			}
		}
		if e.Amount.Sign() > 0 {
			least = append(least, e)
		}
	}
	return least
}
