// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// podAsk is a pod that asks for room in its queue.
type podAsk struct {
	pod   *demand.Pod
	queue ledger.QueueID
	// books is the ledger, or a view of it, that the pod must fit.
	books *ledger.Ledger
}

// podCheck is one reason for which a queue may refuse a pod.
type podCheck struct {
	name string
	// on selects the pods that the check is for.
	on podKind
	// refuse returns nil if the pod passes.
	refuse func(*plugin, podAsk) report.Refusal
}

// quotaCheck is the only check whose answer changes when other pods go.
const quotaCheck = "Quota"

// podChecks are made in this order. The first refusal is the answer.
var podChecks = []podCheck{
	{"DevicesReady", withClaims, (*plugin).checkDevicesReady},
	{"DeviceQuotaReady", withClaims, (*plugin).checkDeviceQuotaReady},
	{"Countable", anyPod, (*plugin).checkCountable},
	{"CapacityInUse", withClaims, (*plugin).checkCapacityInUse},
	{"CardsReady", withCards, (*plugin).checkCardsReady},
	{"CardsNamed", withCards, (*plugin).checkCardsNamed},
	{"DevicesListed", withClaims, (*plugin).checkDevicesListed},
	{quotaCheck, anyPod, (*plugin).checkQuota},
	{"ResourcesKnown", anyPod, (*plugin).checkResourcesKnown},
}

// podKind is a set of pods: a bit for pods with claims, and a bit for pods that request cards.
type podKind uint8

const (
	anyPod     podKind = 0
	withClaims podKind = 1
	withCards  podKind = 2
)

// checksOf has the checks for each kind of pod, so that a pod is not asked about what it lacks.
var checksOf = func() (byKind [4][]podCheck) {
	for kind := range byKind {
		for _, check := range podChecks {
			if check.on&podKind(kind) == check.on {
				byKind[kind] = append(byKind[kind], check)
			}
		}
	}
	return byKind
}()

func kindOf(pod *demand.Pod) podKind {
	kind := anyPod
	if pod.HasClaims {
		kind |= withClaims
	}
	if pod.Cards != nil || pod.UnnamedCards != "" {
		kind |= withCards
	}
	return kind
}

// refusePod says why the queue refuses the pod, by the ledger or a view of it. It returns nil if the queue takes
// the pod.
func (p *plugin) refusePod(books *ledger.Ledger, info *api.QueueInfo, task *api.TaskInfo) report.Refusal {
	pod := p.snapshot.Known(task.Pod)
	if pod == nil {
		return report.PodUnknown{}
	}
	queue, refusal := p.snapshot.QueueFor(pod, info)
	if refusal != nil {
		return refusal
	}
	variants := pod.Alternatives()
	if variants == nil {
		return p.refuseVariant(podAsk{pod: pod, queue: queue, books: books})
	}
	refusals := make([]report.Refusal, len(variants))
	for i, variant := range variants {
		if refusals[i] = p.refuseVariant(podAsk{pod: variant, queue: queue, books: books}); refusals[i] == nil {
			return nil
		}
	}
	return report.EachWay{Served: servedOf(variants), Refusals: refusals}
}

// refuseVariant says why the queue refuses a pod that gets its extended resources in a given way, nil if it does not.
func (p *plugin) refuseVariant(ask podAsk) report.Refusal {
	for _, check := range checksOf[kindOf(ask.pod)] {
		if refusal := check.refuse(p, ask); refusal != nil {
			return refusal
		}
	}
	return nil
}

// refuseForGood says why the queue refuses a variant of a pod whichever other pods go, nil if it does not.
func (p *plugin) refuseForGood(ask podAsk) report.Refusal {
	for _, check := range checksOf[kindOf(ask.pod)] {
		if check.name == quotaCheck {
			continue
		}
		if refusal := check.refuse(p, ask); refusal != nil {
			return refusal
		}
	}
	return nil
}

// servedOf returns the extended resources that DRA serves for each variant of a pod.
func servedOf(variants []*demand.Pod) [][]corev1.ResourceName {
	served := make([][]corev1.ResourceName, len(variants))
	for i, variant := range variants {
		served[i] = variant.Served()
	}
	return served
}

// checkDevicesReady refuses devices while it is not known which are in use.
func (p *plugin) checkDevicesReady(podAsk) report.Refusal {
	if p.devicesNotReady != nil {
		return p.devicesNotReady
	}
	return nil
}

// checkDeviceQuotaReady refuses devices while a quota on the way to the root is not known.
func (p *plugin) checkDeviceQuotaReady(ask podAsk) report.Refusal {
	if notReady := p.snapshot.DeviceQuotaNotReady(ask.queue); notReady != nil {
		return notReady
	}
	return nil
}

// checkCountable refuses a pod whose demand cannot be counted. A scheduler that does not allocate devices leaves
// pods with claims alone where no queue limits devices.
func (p *plugin) checkCountable(ask podAsk) report.Refusal {
	err := ask.pod.Err
	if err == nil || ask.pod.HasClaims && errors.Is(err, devices.ErrNotEnabled) && !p.snapshot.LimitsDevices(ask.queue) {
		return nil
	}
	if errors.As(err, new(demand.UnknownResourceError)) {
		return nil // see checkResourcesKnown
	}
	return report.Uncountable{Err: err}
}

// checkResourcesKnown refuses a pod that asks for a resource which nobody offers.
func (p *plugin) checkResourcesKnown(ask podAsk) report.Refusal {
	if ask.pod.Err == nil {
		return nil
	}
	var unknown demand.UnknownResourceError // allocated only if it is needed
	if !errors.As(ask.pod.Err, &unknown) {
		return nil
	}
	return report.ResourceUnknown{UnknownResourceError: unknown, Queue: p.snapshot.Top(ask.queue)}
}

// checkCapacityInUse refuses devices whose capacity is limited while it is not known how much of it is in use.
func (p *plugin) checkCapacityInUse(ask podAsk) report.Refusal {
	return p.snapshot.CapacityInUseUnknown(ask.queue, ask.pod)
}

// checkDevicesListed refuses devices for which no queue on the way to the root lists a class, if that is required.
func (p *plugin) checkDevicesListed(ask podAsk) report.Refusal {
	return p.snapshot.RefuseUnlistedPod(ask.queue, ask.pod)
}

// checkCardsReady refuses cards while it is not known which are in use, or what the quotas are.
func (p *plugin) checkCardsReady(ask podAsk) report.Refusal {
	return p.refuseCards(ask.queue)
}

func (p *plugin) refuseCards(queue ledger.QueueID) report.Refusal {
	if p.cardsNotReady != nil && p.snapshot.Ledger.ListsCards(queue) {
		return p.cardsNotReady
	}
	if notReady := p.snapshot.CardQuotaNotReady(queue); notReady != nil {
		return notReady
	}
	return nil
}

// checkCardsNamed refuses cards that no node's labels name, in a queue that limits cards.
func (p *plugin) checkCardsNamed(ask podAsk) report.Refusal {
	unnamed := ask.pod.UnnamedCards
	if ask.pod.Cards != nil {
		unnamed = ask.pod.Cards.Unnamed()
	}
	if unnamed == "" || !p.snapshot.Ledger.ListsCards(ask.queue) {
		return nil
	}
	return report.CardUnnamed{Resource: unnamed}
}

// checkQuota refuses a pod that the queue or an ancestor has no room for.
func (p *plugin) checkQuota(ask podAsk) report.Refusal {
	refused, err := ask.books.Fits(ask.queue, p.snapshot.Asked(ask.pod))
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused == nil:
		return nil
	}
	var state cards.State
	if refused.Dimension.Kind == ledger.Card && p.snapshot.LimitsCards(ask.pod) {
		state, _ = cards.PreFilter(ask.books, ask.pod) // without it, the message names the first card only
	}
	return p.exceeded(ask.queue, ask.pod, refused, state)
}

// exceeded explains a refusal of the ledger for a pod that may choose among cards.
func (p *plugin) exceeded(queue ledger.QueueID, pod *demand.Pod, refused *ledger.Refusal, state cards.State) report.Refusal {
	refused, others := state.Explain(pod, refused)
	return p.snapshot.RefuseCards(queue, refused, others)
}
