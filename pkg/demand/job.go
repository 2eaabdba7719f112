package demand

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Minimum is what the pods that a job needs at least ask for.
type Minimum struct {
	// Amounts are those of claims that will be made from templates. Where there is a choice
	// among alternatives they are what all alternatives have in common.
	Amounts ledger.Amounts
	// Choices are what pods take one of besides.
	Choices []Choice
	// Named are the claims that the templates of the pods name, each once.
	Named []*Claim
}

// Choice is what each of some pods takes one of.
type Choice struct {
	Pods int64
	// Alternatives are what each has beyond what all have in common.
	Alternatives []ledger.Amounts
}

// OfJob returns what a Volcano Job asks for before its pods exist, by the templates of its tasks
// times what it needs of each at least. Priority returns the value of a PriorityClass. The
// error names the object that is missing or wrong.
func OfJob(job *batchv1alpha1.Job, source dra.ClaimReader, claims *Claims, priority func(class string) int32) (Minimum, error) {
	var minimum Minimum
	for i, pods := range podsOf(job, priority) {
		if pods == 0 {
			continue
		}
		spec := &job.Spec.Tasks[i].Template.Spec
		for j := range spec.ResourceClaims {
			if err := minimum.add(job.Namespace, &spec.ResourceClaims[j], int64(pods), source, claims); err != nil {
				return Minimum{}, fmt.Errorf("task %s: %w", job.Spec.Tasks[i].Name, err)
			}
		}
	}
	return minimum, nil
}

// CardsOfJob is OfJob for the cards that device plugins hand out. A task that names only cards that no
// node has asks for nothing yet: its pods wait, and say so, and may make somebody add a node.
func CardsOfJob(job *batchv1alpha1.Job, fleet *card.Fleet, dimensions *ledger.Dimensions, priority func(class string) int32) (Least, error) {
	var least Least
	for i, pods := range podsOf(job, priority) {
		if pods == 0 {
			continue
		}
		template := &job.Spec.Tasks[i].Template
		cards, err := CardsOf(template.Annotations, &template.Spec, fleet, dimensions)
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

func (m *Minimum) add(namespace string, ref *corev1.PodResourceClaim, pods int64, source dra.ClaimReader, claims *Claims) error {
	if ref.ResourceClaimName != nil {
		claim, err := claims.named(namespace, *ref.ResourceClaimName, source)
		if err == nil && !slices.Contains(m.Named, claim) {
			m.Named = append(m.Named, claim)
		}
		return err
	}
	if ref.ResourceClaimTemplateName == nil {
		return nil
	}
	each, choices, err := claims.ofTemplate(namespace, *ref.ResourceClaimTemplateName, source)
	for _, alternatives := range choices {
		m.Choices = append(m.Choices, Choice{Pods: pods, Alternatives: alternatives})
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

func (cs *Claims) named(namespace, name string, source dra.ClaimReader) (*Claim, error) {
	return cs.checked(dra.ClaimNamed(namespace, name, source))
}

// ofTemplate returns what a claim from a template asks for in any case, and the choices that come
// on top of that.
func (cs *Claims) ofTemplate(namespace, name string, source dra.ClaimReader) (ledger.Amounts, [][]ledger.Amounts, error) {
	template, err := dra.TemplateNamed(namespace, name, source)
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

// common is what all alternatives have in common.
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

// podsOf returns for each task how many of its pods belong to the job's minimum, as Volcano's
// job controller has it (calcPGMinResources): when the tasks' own minimums are more than the
// job's, the job's first pods in the order of priority; else those minimums, and of the rest
// again the first.
func podsOf(job *batchv1alpha1.Job, priority func(string) int32) []int32 {
	tasks := job.Spec.Tasks
	order := make([]int, len(tasks))
	least := make([]int32, len(tasks))
	total := int32(0)
	for i := range tasks {
		order[i], least[i] = i, tasks[i].Replicas
		if tasks[i].MinAvailable != nil {
			least[i] = *tasks[i].MinAvailable
		}
		total += least[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(priority(tasks[b].Template.Spec.PriorityClassName), priority(tasks[a].Template.Spec.PriorityClassName))
	})
	pods, rest := make([]int32, len(tasks)), job.Spec.MinAvailable
	if rest >= total {
		copy(pods, least)
		rest -= total
	}
	for _, i := range order {
		more := max(0, min(rest, tasks[i].Replicas-pods[i]))
		pods[i], rest = pods[i]+more, rest-more
	}
	return pods
}
