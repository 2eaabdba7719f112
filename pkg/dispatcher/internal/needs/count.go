// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	podrequests "github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// counting is the count of one workload.
type counting struct {
	*Counter
	template *workload.Template
	read     claimsRead
	// minimum and all are the sums for one copy, pod is the largest pod.
	minimum, all, pod ledger.Amounts
	// more says that there may be more pods than the template says. They may be of a set that has none by now.
	more bool
	// own is what one pod needs as the template says now.
	own ledger.Amounts
	// named has the claims that pods name, which count once for each copy, or in each of the clusters among which a copy is divided.
	named    map[string]bool
	clusters int64
	// templates has what a claim from a template comes to, by the name of the template.
	templates map[string]ledger.Amounts
	unlisted  map[string]ledger.Amount
	// unnamed are the limited capacities of which devices name no amount.
	unnamed []ledger.Ordinal
	notices []string
}

// count counts a workload anew.
func (c *Counter) count(template *workload.Template, spread framework.Spread) *Counted {
	w := &counting{Counter: c, template: template, named: map[string]bool{}, templates: map[string]ledger.Amounts{}, unlisted: map[string]ledger.Amount{}}
	needs, err := w.needs(spread)
	needs.Claims = w.read.identity()
	return &Counted{Needs: needs, Err: err, edition: c.edition, claims: w.read}
}

func (w *counting) needs(spread framework.Spread) (framework.Needs, error) {
	if w.template.Fallback {
		w.note("kind %s is not known: what Karmada found in it counts", w.template.Kind)
	}
	if err := w.addAll(spread); err != nil {
		return framework.Needs{}, err
	}
	copies := max(1, spread.Copies)
	needs := framework.Needs{Unlisted: w.listUnlisted(), Unnamed: w.unnamed, Pod: w.own, Notice: strings.Join(w.notices, "; ")}
	for _, amounts := range []ledger.Amounts{w.all, w.minimum} {
		// Another order would be another refusal, and another event.
		slices.SortFunc(amounts, func(a, b ledger.Entry) int { return cmp.Compare(a.Dimension, b.Dimension) })
	}
	var err error
	if needs.All, err = w.all.Times(copies); err != nil {
		return framework.Needs{}, err
	}
	needs.Minimum, err = w.minimum.Times(copies)
	return needs, err
}

// addAll adds what one copy needs.
func (w *counting) addAll(spread framework.Spread) error {
	if err := w.addReserve(); err != nil {
		return err
	}
	w.clusters = 1
	if spread.Divided {
		w.clusters = max(1, spread.Clusters)
	}
	w.more = spread.Replicas > 0
	for i := range w.template.Pods {
		set := &w.template.Pods[i]
		pod, err := w.onePod(set)
		if err == nil {
			pod = w.orFormer(pod, spread.Granted)
			err = w.add(pod, set.Minimum, set.Count)
		}
		if err != nil && set.Name != "" {
			err = fmt.Errorf("task %s: %w", set.Name, err)
		}
		if err != nil {
			return err
		}
		w.pod = w.pod.Max(pod)
	}
	more := max(0, spread.Replicas-w.template.Unsurged()) + w.template.SurgeBeyond(spread.Replicas, w.clusters)
	return w.add(w.pod, 0, more) // nobody knows which pods they are
}

// orFormer returns the most of what a pod needs, and of what pods may have that clusters make of a former template. What they have of claims
// that all of them name is in no pod.
func (w *counting) orFormer(pod ledger.Amounts, granted *binding.Grant) ledger.Amounts {
	if !w.template.Replaces || len(pod) == 0 {
		return pod
	}
	if w.own = pod; granted == nil {
		return pod
	}
	return append(ledger.Amounts(nil), pod...).Max(FromGrant(w.counter.Dimensions, granted.Pod))
}

// add adds a number of pods that are alike.
func (w *counting) add(pod ledger.Amounts, minimum, count int64) error {
	for _, sum := range []struct {
		of    *ledger.Amounts
		times int64
	}{{&w.minimum, minimum}, {&w.all, count}} {
		if sum.times <= 0 {
			continue
		}
		amounts, err := pod.Times(sum.times)
		if err == nil {
			*sum.of, err = sum.of.PlusAll(amounts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onePod returns what one pod needs. It adds the claims that the pod names to the sums, if they are new.
func (w *counting) onePod(set *workload.PodSet) (ledger.Amounts, error) {
	if set.Template == nil || set.Count <= 0 && !w.more {
		return nil, nil
	}
	if err := podrequests.CheckPod(&set.Template.Spec); err != nil {
		return nil, err
	}
	spec := withDefaults(&set.Template.Spec)
	effective := podrequests.OfPod(&corev1.Pod{Spec: *spec})
	amounts := w.resources(effective)
	cards, err := w.cardsOf(set, spec, effective)
	if err == nil {
		amounts, err = amounts.PlusAll(cards)
	}
	if err != nil {
		return nil, err
	}
	devices, err := w.devicesOf(set, spec)
	if err != nil {
		return nil, err
	}
	return amounts.PlusAll(devices)
}

// addReserve adds what a PodGroup reserves.
func (w *counting) addReserve() error {
	if err := podrequests.Check(w.template.Reserve); err != nil {
		return err
	}
	if len(w.template.Reserve) > 0 {
		reserve, _ := w.counter.Resources.Minimum(w.template.Reserve, nil)
		w.minimum, w.all = reserve, append(ledger.Amounts(nil), reserve...)
	}
	cards, err := w.cardRequest(w.template.CardRequest)
	if err == nil {
		err = w.add(cards, 1, 1)
	}
	return err
}

// maxNotices bounds what people are told of one workload, which may request thousands of resources.
const maxNotices = 8

func (w *counting) note(format string, args ...any) {
	if len(w.notices) == maxNotices {
		return
	}
	notice := fmt.Sprintf(format, args...)
	for _, other := range w.notices {
		if other == notice {
			return
		}
	}
	w.notices = append(w.notices, notice)
}

// refuse notes cards that no queue lists.
func (w *counting) refuse(name string, count, pods int64) error {
	amount, err := ledger.Units(count).Times(pods)
	if err == nil {
		w.unlisted[name], err = w.unlisted[name].Add(amount)
	}
	return err
}

func (w *counting) listUnlisted() []binding.Amount {
	var list []binding.Amount
	for name, amount := range w.unlisted {
		list = append(list, binding.Amount{Dimension: ledger.Dimension{Kind: ledger.Card, Name: name}, Amount: amount})
	}
	sortByName(list)
	return list
}

// withoutDevices leaves out the implicit names of DeviceClasses, which are devices of the classes and nothing else.
func (w *counting) withoutDevices(requests corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range requests {
		if !strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix) {
			list[name] = quantity
		}
	}
	return list
}
