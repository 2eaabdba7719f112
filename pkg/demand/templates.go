// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
)

// templates remembers what jobs without enough pods ask for. They are asked in every cycle in which they wait, a Volcano Job may have thousands of
// tasks, and each of these may name many cards. An answer is kept while it is asked for in each round.
type templates struct {
	inputs   templateInputs
	round    uint64
	jobs     map[*batchv1alpha1.Job]*jobTemplates
	requests map[string]*jobRequest
	// selections are those of the templates that are being counted.
	selections []*card.Selection
}

// templateInputs are what the answers depend on, besides the jobs and what Configure sets.
type templateInputs struct {
	fleet, dimensions int
	catalog           *dra.Catalog
}

// jobTemplates is what the templates of a Volcano Job ask for. It must not be changed.
type jobTemplates struct {
	round uint64
	// minimum has the number of pods of each task.
	minimum     []int32
	claims      jobClaims
	cards       Least
	cardsErr    error
	extended    Minimum
	extendedErr error
	// selections are those of the templates. The fleet tells of changes as long as they are kept.
	selections []*card.Selection
}

// jobRequest is what an annotation volcano.sh/card.request asks for. It must not be changed.
type jobRequest struct {
	round uint64
	least Least
	err   error
}

func (t *templates) forget() {
	clear(t.jobs)
	clear(t.requests)
}

func (t *templates) begin(inputs templateInputs) {
	if inputs != t.inputs {
		t.forget()
	}
	maps.DeleteFunc(t.jobs, func(_ *batchv1alpha1.Job, known *jobTemplates) bool { return known.round != t.round })
	maps.DeleteFunc(t.requests, func(_ string, known *jobRequest) bool { return known.round != t.round })
	t.inputs = inputs
	t.round++
	if t.jobs == nil {
		t.jobs, t.requests = map[*batchv1alpha1.Job]*jobTemplates{}, map[string]*jobRequest{}
	}
}

// templatesOf returns what the templates of a Volcano Job ask for. Of its claims and claim templates, it returns the names.
func (c *Counter) templatesOf(job *batchv1alpha1.Job, priority func(class string) int32) *jobTemplates {
	known := c.templates.jobs[job]
	if known != nil && known.round == c.templates.round {
		return known // each round asks several times
	}
	minimum := MinimumPods(job, priority)
	if known == nil || !slices.Equal(known.minimum, minimum) {
		known = &jobTemplates{minimum: minimum, claims: claimsOfJob(job, minimum)}
		c.templates.selections = nil
		known.cards, known.cardsErr = c.cardsOfJob(job, minimum)
		known.extended, known.extendedErr = c.extendedOfJob(job, minimum)
		known.selections = c.templates.selections
		c.templates.jobs[job] = known
	}
	known.round = c.templates.round
	return known
}

// cardsOf is CardsOf for a template, and notes what the template selects.
func (c *Counter) cardsOf(annotations map[string]string, spec *corev1.PodSpec, served []corev1.ResourceName) (*Cards, error) {
	cards, err := CardsOf(annotations, spec, served, c.Fleet, c.Dimensions)
	if cards != nil && cards.selection != nil {
		c.templates.selections = append(c.templates.selections, cards.selection)
	}
	return cards, err
}

// requestOf returns what an annotation volcano.sh/card.request asks for.
func (c *Counter) requestOf(annotations map[string]string) (Least, error) {
	text, carries := annotations[card.RequestAnnotation]
	if !carries {
		return Least{}, nil
	}
	known := c.templates.requests[text]
	if known == nil {
		known = &jobRequest{}
		known.least, known.err = OfCardRequest(annotations, c.Fleet, c.Dimensions)
		c.templates.requests[text] = known
	}
	known.round = c.templates.round
	return known.least, known.err
}

// addAll adds another minimum without named claims.
func (m *Minimum) addAll(other *Minimum) (err error) {
	for _, choice := range other.Choices {
		m.Choices = addChoice(m.Choices, choice)
	}
	m.Amounts, err = m.Amounts.PlusAll(other.Amounts)
	return err
}
