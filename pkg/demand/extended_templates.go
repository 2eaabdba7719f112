// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// setsOf returns the sets of extended resources that DRA may serve to pods from a template, see Serving. It returns one empty set
// for pods without extended resources.
func (c *Counter) setsOf(spec *corev1.PodSpec) [][]corev1.ResourceName {
	names := c.Resources.extendedNames(spec)
	if len(names) == 0 {
		return [][]corev1.ResourceName{nil}
	}
	return c.serving.sets(names)
}

// extendedOfJob returns the extended resources of a Volcano Job's minimum for which pods get, or may get, devices.
func (c *Counter) extendedOfJob(job *batchv1alpha1.Job, least []int32) (minimum Minimum, err error) {
	for i, pods := range least {
		task := &job.Spec.Tasks[i]
		spec := Defaulted(&task.Template.Spec)
		sets := c.setsOf(spec)
		if pods == 0 || len(sets) == 1 && len(sets[0]) == 0 {
			continue
		}
		ways, err := c.waysOf(task.Template.Annotations, spec, sets)
		if err == nil {
			err = minimum.addWays(int64(pods), ways)
		}
		if err != nil {
			return Minimum{}, fmt.Errorf("task %s: %w", task.Name, err)
		}
	}
	return minimum, nil
}

// addWays adds the needs of a number of pods. Each pod takes one of the ways.
func (m *Minimum) addWays(pods int64, ways []ledger.Amounts) error {
	all := common(ways)
	times, err := all.Times(pods)
	if err == nil {
		m.Amounts, err = m.Amounts.PlusAll(times)
	}
	m.Choices = addChoice(m.Choices, Choice{Pods: pods, Alternatives: beyond(ways, all)})
	return err
}

// waysOf returns the demand of a pod from a template for each way of getting its extended resources. If there is only one way, it
// leaves out cards of nodes, because cardsOfJob counts them. The error says why no way is possible.
func (c *Counter) waysOf(annotations map[string]string, spec *corev1.PodSpec, sets [][]corev1.ResourceName) ([]ledger.Amounts, error) {
	var ways []ledger.Amounts
	var first error
	for _, served := range sets {
		devices, err := c.devicesFor(annotations, spec, served)
		var cards *Cards
		if err == nil && len(sets) > 1 {
			cards, err = c.cardsOf(annotations, spec, served)
		}
		switch {
		case err != nil && first == nil:
			first = err
		case err != nil:
		case cards != nil:
			ways = append(ways, cards.ways(devices)...)
		default:
			ways = append(ways, devices)
		}
	}
	if len(ways) > 0 {
		first = nil
	}
	return ways, first
}

// devicesFor returns the amounts of the devices for some extended resources of a template.
func (c *Counter) devicesFor(annotations map[string]string, spec *corev1.PodSpec, served []corev1.ResourceName) (ledger.Amounts, error) {
	if len(served) == 0 {
		return nil, nil
	}
	usage, err := dra.ExtendedUsage(spec, served, c.serving.class)
	if err = cmp.Or(err, dra.CheckClasses("extended resources", &usage, c.Claims.catalog), c.checkClassCards(annotations, served)); err != nil {
		return nil, err
	}
	amounts, _, _, err := c.Claims.count(usage)
	return amounts, err
}

// checkClassCards returns an error if annotations name cards, and a class that offers one of the resources has none of these cards.
func (c *Counter) checkClassCards(annotations map[string]string, served []corev1.ResourceName) error {
	asked, names, err := CardNames(annotations)
	if err != nil || !names {
		return err
	}
	for _, name := range served {
		class := c.serving.class(name)
		is := c.Claims.catalog.Card(class)
		if slices.Contains(asked, is) {
			continue
		}
		if is == "" {
			is = "no card"
		}
		return fmt.Errorf("it names card %s, but devices of DeviceClass %s, which offers %s, are %s: correct the annotation %s of the pod or of the class",
			wanted(asked), class, name, is, card.NameAnnotation)
	}
	return nil
}

// Defaulted returns a copy of the spec with the requests that the API server adds to new pods.
func Defaulted(spec *corev1.PodSpec) *corev1.PodSpec {
	changed := *spec
	changed.Containers, changed.InitContainers = defaultedContainers(spec.Containers), defaultedContainers(spec.InitContainers)
	return &changed
}

func defaultedContainers(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		containers[i].Resources.Requests = dra.ContainerRequests(&containers[i])
	}
	return containers
}
