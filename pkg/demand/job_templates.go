// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

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
	// sum is a hash of the alternatives, zero if it is not known yet.
	sum uint64
}

// most returns the most of each dimension that one pod may choose.
func (c *Choice) most() ledger.Amounts {
	var most ledger.Amounts
	for _, a := range c.Alternatives {
		most = Sum(most, a.Beyond(most, nil))
	}
	return most
}

var seed = maphash.MakeSeed()

// summed returns a choice with the hash of its alternatives. Users write many choices that differ only at their ends, and each waiting job compares
// them with each other in every cycle.
func (c Choice) summed() Choice {
	if c.sum != 0 {
		return c
	}
	c.sum = 1
	for _, alternative := range c.Alternatives {
		c.sum = c.sum*31 + uint64(len(alternative))
		for _, e := range alternative {
			c.sum = c.sum*31 + maphash.Comparable(seed, e)
		}
	}
	return c
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

// ofNamed returns the devices of a Volcano Job's minimum before its pods exist, given what it names. The error names the missing or wrong object.
func (cs *Claims) ofNamed(namespace string, names jobClaims, reader dra.ClaimReader) (Minimum, error) {
	var minimum Minimum
	for i := range names.refs {
		if err := minimum.add(namespace, names.refs[i], reader, cs); err != nil {
			return Minimum{}, fmt.Errorf("task %s: %w", names.refs[i].task, err)
		}
	}
	if names.err != nil {
		return Minimum{}, names.err
	}
	return minimum, nil
}

// jobClaims are the claims and claim templates that the minimum of a Volcano Job names, each once. A job has room for tens of thousands of
// references to the same few.
type jobClaims struct {
	refs []*jobClaim
	// err says why there are no more refs.
	err error
}

// jobClaim is a claim, or a number of claims from a template, that all pods of a job's minimum together want. The task is the first one that names it.
type jobClaim struct {
	name, task string
	named      bool
	times      int64
}

// claimsOfJob returns what the minimum of a job names, given the number of pods of each task.
func claimsOfJob(job *batchv1alpha1.Job, minimum []int32) (all jobClaims) {
	claims, templates := map[string]*jobClaim{}, map[string]*jobClaim{}
	for i, pods := range minimum {
		if pods == 0 {
			continue
		}
		task := &job.Spec.Tasks[i]
		if err := tooManyInSpec(&task.Template.Spec); err != nil {
			all.err = fmt.Errorf("task %s: %w", task.Name, err)
			return all
		}
		for j := range task.Template.Spec.ResourceClaims {
			ref := &task.Template.Spec.ResourceClaims[j]
			known, to := claims, ref.ResourceClaimName
			if to == nil {
				known, to = templates, ref.ResourceClaimTemplateName
			}
			if to == nil {
				continue
			}
			name := *to
			if known[name] == nil {
				known[name] = &jobClaim{name: name, task: task.Name, named: ref.ResourceClaimName != nil}
				if err := CheckNamed(len(claims), len(templates)); err != nil {
					all.err = fmt.Errorf("the Job %s/%s: %w", job.Namespace, job.Name, err)
					return all
				}
				all.refs = append(all.refs, known[name])
			}
			known[name].times += int64(pods)
		}
	}
	return all
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
		cards, err := c.cardsOf(template.Annotations, spec, sets[0])
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

func (m *Minimum) add(namespace string, refs *jobClaim, reader dra.ClaimReader, claims *Claims) error {
	if refs.named {
		claim, err := claims.checked(dra.ClaimNamed(namespace, refs.name, reader))
		if err == nil {
			m.Named = append(m.Named, claim)
		}
		return err
	}
	each, choices, err := claims.ofTemplate(namespace, refs.name, reader)
	for _, choice := range choices {
		choice.Pods = refs.times
		m.Choices = addChoice(m.Choices, choice)
	}
	for _, e := range each {
		var all ledger.Amount
		if err == nil {
			all, err = e.Amount.Times(refs.times)
		}
		if err == nil {
			m.Amounts, err = m.Amounts.Plus(e.Dimension, all)
		}
	}
	return err
}

// templateCount is what a claim from a template asks for.
type templateCount struct {
	least   ledger.Amounts
	choices []Choice
	err     error
}

// ofTemplate returns the least amounts of a claim from a template, and its additional choices. Callers must not change them: a template is
// counted once per round, because thousands of pods and jobs may name it.
func (cs *Claims) ofTemplate(namespace, name string, reader dra.ClaimReader) (ledger.Amounts, []Choice, error) {
	template, err := dra.TemplateNamed(namespace, name, reader)
	if err != nil {
		return nil, nil, err
	}
	counted, known := cs.templates[template]
	if !known {
		var choices [][]ledger.Amounts
		counted.least, choices, counted.err = cs.countTemplate("ResourceClaimTemplate "+namespace+"/"+name, template)
		for _, alternatives := range choices {
			counted.choices = append(counted.choices, Choice{Alternatives: alternatives}.summed())
		}
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
