// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Minimum is the devices in the pod templates of a job's minimum.
type Minimum struct {
	// Amounts is the sum over the claims to be made from claim templates. A choice adds the amounts common to all alternatives.
	Amounts ledger.Amounts
	// Choices holds the choices of pods in addition to Amounts.
	Choices []Choice
	// Named holds the claims that pod templates refer to by name, each once.
	Named []*Claim
}

// Choice is a choice made by each of a number of pods.
type Choice struct {
	Pods int64
	// Alternatives holds the excess of each alternative over the common amounts.
	Alternatives []ledger.Amounts
}

// withoutCharged returns the remaining choices after spare was charged for pods that have chosen.
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

// OfJob returns the devices of a Volcano Job's minimum before its pods exist. priority returns the value of a
// PriorityClass. The error names the missing or wrong object.
func (cs *Claims) OfJob(job *batchv1alpha1.Job, reader dra.ClaimReader, priority func(class string) int32) (Minimum, error) {
	var minimum Minimum
	named, templates := map[string]bool{}, map[string]bool{}
	for i, pods := range MinimumPods(job, priority) {
		if pods == 0 {
			continue
		}
		spec := &job.Spec.Tasks[i].Template.Spec
		if err := tooManyInSpec(spec); err != nil {
			return Minimum{}, fmt.Errorf("task %s: %w", job.Spec.Tasks[i].Name, err)
		}
		for _, claims := range claimsOfSpec(spec) {
			if claims.named && named[claims.name] {
				continue
			}
			if claims.named {
				named[claims.name] = true
			} else {
				templates[claims.name] = true
			}
			if err := CheckNamed(len(named), len(templates)); err != nil {
				return Minimum{}, fmt.Errorf("the Job %s/%s: %w", job.Namespace, job.Name, err)
			}
			if err := minimum.add(job.Namespace, claims, int64(pods), reader, cs); err != nil {
				return Minimum{}, fmt.Errorf("task %s: %w", job.Spec.Tasks[i].Name, err)
			}
		}
	}
	return minimum, nil
}

// cardsOfJob returns the cards of a Volcano Job's minimum before its pods exist. It leaves out cards that pods may get in other
// ways, see extendedOfJob. A task that names only unknown cards adds nothing. Its pods are created, wait, and report the reason,
// so an autoscaler can add a node.
func (c *Counter) cardsOfJob(job *batchv1alpha1.Job, minimum []int32) (Least, error) {
	var least Least
	for i, pods := range minimum {
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

func (m *Minimum) hasCards(dimensions *ledger.Dimensions) bool {
	isCard := func(e ledger.Entry) bool { return dimensions.Dimension(e.Dimension).Kind == ledger.Card }
	someAre := func(amounts ledger.Amounts) bool { return slices.ContainsFunc(amounts, isCard) }
	return someAre(m.Amounts) || slices.ContainsFunc(m.Choices, func(c Choice) bool { return slices.ContainsFunc(c.Alternatives, someAre) }) ||
		slices.ContainsFunc(m.Named, func(claim *Claim) bool { return someAre(claim.Part.Amounts()) })
}

// templateClaims is a reference of a pod template to a claim, or a number of references to a claim template.
type templateClaims struct {
	name  string
	named bool
	times int64
}

// claimsOfSpec returns the references of a pod spec, each once.
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
		if err == nil {
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

// templateCount is what a claim from a template asks for.
type templateCount struct {
	least   ledger.Amounts
	choices [][]ledger.Amounts
	err     error
}

// ofTemplate returns the least amounts of a claim from a template, and its additional choices. Callers must not change them: a template is
// counted once per round, because thousands of pods and jobs may name it.
func (cs *Claims) ofTemplate(namespace, name string, reader dra.ClaimReader) (ledger.Amounts, [][]ledger.Amounts, error) {
	template, err := dra.TemplateNamed(namespace, name, reader)
	if err != nil {
		return nil, nil, err
	}
	counted, known := cs.templates[template]
	if !known {
		counted.least, counted.choices, counted.err = cs.countTemplate("ResourceClaimTemplate "+namespace+"/"+name, template)
		cs.templates[template] = counted
	}
	return counted.least, counted.choices, counted.err
}

// countTemplate counts a claim from a template. object names the template in errors.
func (cs *Claims) countTemplate(object string, template *resourceapi.ResourceClaimTemplate) (ledger.Amounts, [][]ledger.Amounts, error) {
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
