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
	// minimum and all are the sums for one copy. Pod is the largest pod.
	minimum, all, pod ledger.Amounts
	// more says that there may be more pods than in the template, even of a set with a count of zero.
	more bool
	// own is what one pod needs by the current template.
	own ledger.Amounts
	// named has the claims that pods name. They count once for each copy, or for each of the clusters of a divided copy.
	named    map[string]bool
	clusters int64
	// templates has the amounts of a claim from a template, by the name of the template.
	templates map[string]ledger.Amounts
	unlisted  map[string]ledger.Amount
	// unnamed are the limited capacities for which devices state no amount.
	unnamed []ledger.Ordinal
	notices []string
}

func (c *Counter) count(template *workload.Template, spread framework.Spread) *Counted {
	w := &counting{Counter: c, template: template, named: map[string]bool{}, templates: map[string]ledger.Amounts{}, unlisted: map[string]ledger.Amount{}}
	needs, err := w.needs(spread)
	if err != nil && spread.Granted != nil { // of others, nobody asks for notes, and each cycle looks up again what was read
		w.readOthers()
	}
	needs.Read, needs.Given = w.read.found(), w.read.given(c.noteOf)
	needs.Claims = identity(template.Namespace, needs.Read)
	return &Counted{Needs: needs, Err: err, generation: c.generation, claims: w.read}
}

func (w *counting) needs(spread framework.Spread) (framework.Needs, error) {
	if w.template.Fallback {
		w.note("kind %s is not known: what Karmada found in it counts", w.template.Kind)
	}
	if err := w.addAll(spread); err != nil {
		return framework.Needs{}, err
	}
	needs := framework.Needs{
		Unlisted: w.listUnlisted(), Unnamed: w.unnamed, Pod: w.own, Notice: strings.Join(w.notices, "; "), Copy: w.all, Minimum: w.minimum,
	}
	return needs, w.multiply(&needs, spread)
}

// multiply sets the sums for all copies from what one copy has.
func (w *counting) multiply(needs *framework.Needs, spread framework.Spread) error {
	copies, leaving := max(1, spread.Copies), spread.Leaving
	may, former := needs.Copy, OneCopy(w.counter.Dimensions, spread.Granted)
	differs := len(former.Beyond(may, nil)) > 0
	if differs { // clusters may have what they had before
		may = append(ledger.Amounts(nil), may...).Max(former)
	}
	whole := differs || len(w.named) > 0 // what the evicted replicas have is not known
	if whole {
		leaving += spread.Evicting
	}
	for _, amounts := range []ledger.Amounts{needs.Copy, needs.Minimum, may} {
		// A different order would give a different refusal and a new event.
		slices.SortFunc(amounts, func(a, b ledger.Entry) int { return cmp.Compare(a.Dimension, b.Dimension) })
	}
	var err error
	for _, sum := range []struct {
		of     *ledger.Amounts
		one    ledger.Amounts
		copies int64
	}{{&needs.Minimum, needs.Minimum, copies}, {&needs.Settled, needs.Copy, copies}, {&needs.Stays, may, copies}, {&needs.All, may, copies + leaving}} {
		if *sum.of, err = sum.one.Times(sum.copies); err != nil {
			return err
		}
	}
	if !whole && spread.Evicted > 0 {
		evicted, err := w.pod.Times(spread.Evicted)
		if err != nil {
			return err
		}
		needs.All, err = needs.All.PlusAll(evicted)
		return err
	}
	return nil
}

// addAll adds the needs of one copy.
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
	return w.add(w.pod, 0, more) // it is unknown which pods they are
}

// orFormer returns the maximum of a pod's needs and of the pods that clusters may make of a former template. Claims that all pods share
// belong to no pod.
func (w *counting) orFormer(pod ledger.Amounts, granted *binding.Grant) ledger.Amounts {
	former := w.template.Replaces || w.template.Shape() != ""
	if !former || len(pod) == 0 {
		return pod
	}
	w.own = append(ledger.Amounts(nil), w.own...).Max(pod)
	if granted == nil || !w.template.Replaces && w.template.Shape() == granted.Shape {
		return pod
	}
	return append(ledger.Amounts(nil), pod...).Max(FromGrant(w.counter.Dimensions, granted.Pod))
}

// add adds a number of identical pods.
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

// mayExist reports whether there may be pods of a set.
func (w *counting) mayExist(set *workload.PodSet) bool {
	return set.Template != nil && (set.Count > 0 || w.more)
}

// onePod returns the needs of one pod. It adds new claims that the pod names to the sums.
func (w *counting) onePod(set *workload.PodSet) (ledger.Amounts, error) {
	if !w.mayExist(set) {
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

// addReserve adds the reserve of a PodGroup.
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

// maxNotices bounds the notices for a workload, which may request thousands of resources.
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

// refuse adds cards that no queue lists.
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

// withoutDevices drops the implicit resource names of DeviceClasses. They count only as devices of the classes.
func (w *counting) withoutDevices(requests corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range requests {
		if !strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix) {
			list[name] = quantity
		}
	}
	return list
}
