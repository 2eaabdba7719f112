// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"

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
	// books is the ledger, or a view of it, that must have room for the pod.
	books *ledger.Ledger
}

// podCheck is one reason for a queue to refuse a pod.
type podCheck struct {
	name string
	// on selects the pods that the check applies to.
	on podKind
	// refuse returns nil if the pod passes.
	refuse func(*Session, podAsk) report.Refusal
}

// podChecks are made in this order. The first refusal is the answer.
var podChecks = []podCheck{
	{"DevicesReady", withClaims, (*Session).podDevicesReady},
	{"DeviceQuotaReady", withClaims, (*Session).podDeviceQuotaReady},
	{"Countable", anyPod, (*Session).podCountable},
	{"CapacityInUse", withClaims, (*Session).podCapacityInUse},
	{"CardsReady", withCards, (*Session).podCardsReady},
	{"CardsNamed", withCards, (*Session).podCardsNamed},
	{"DevicesListed", withClaims, (*Session).podDevicesListed},
	{Quota, anyPod, (*Session).podQuota},
	{"ResourcesKnown", anyPod, (*Session).podResourcesKnown},
}

// podKind is a set of pods: a bit for pods with claims, and a bit for pods that request cards.
type podKind uint8

const (
	anyPod     podKind = 0
	withClaims podKind = 1
	withCards  podKind = 2
)

// checksOf has the checks for each kind of pod. A pod skips checks for claims or cards that it does not have.
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

// Pod returns why the queue refuses the pod, according to the ledger or a view of it. It returns nil if the queue accepts the pod.
func (s *Session) Pod(books *ledger.Ledger, info *api.QueueInfo, task *api.TaskInfo) report.Refusal {
	if refusal := s.BindingFailed(task); refusal != nil {
		return refusal
	}
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil {
		return report.PodUnknown{}
	}
	queue, refusal := s.Snapshot.QueueFor(pod, info)
	if refusal != nil {
		return refusal
	}
	variants := pod.Alternatives()
	if variants == nil {
		return s.refuse(podAsk{pod: pod, queue: queue, books: books})
	}
	refusals := make([]report.Refusal, len(variants))
	for i, variant := range variants {
		if refusals[i] = s.refuse(podAsk{pod: variant, queue: queue, books: books}); refusals[i] == nil {
			return nil
		}
	}
	return report.RefuseEachWay(variants, refusals)
}

// refuse returns why the queue refuses one variant of a pod, nil if it does not.
func (s *Session) refuse(ask podAsk) report.Refusal {
	for _, check := range checksOf[kindOf(ask.pod)] {
		if refusal := check.refuse(s, ask); refusal != nil {
			return refusal
		}
	}
	return nil
}

// ForGood returns why the queue refuses a variant of a pod no matter which other pods go, nil if it does not.
func (s *Session) ForGood(variant *demand.Pod) report.Refusal {
	ask := podAsk{pod: variant, queue: variant.Queue, books: s.Snapshot.Ledger}
	for _, check := range checksOf[kindOf(variant)] {
		if check.name == Quota {
			continue
		}
		if refusal := check.refuse(s, ask); refusal != nil {
			return refusal
		}
	}
	return nil
}

// EachOfPod makes all checks of a pod, in addition to what releasing pods still hold. A pod with variants passes a check if one variant
// does.
func (s *Session) EachOfPod(queue ledger.QueueID, pod *demand.Pod) []Result {
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*demand.Pod{pod}
	}
	results := make([]Result, len(podChecks))
	for i, check := range podChecks {
		results[i].Name = check.name
		var refused []report.Refusal
		for _, variant := range variants {
			if check.on&kindOf(variant) != check.on {
				continue
			}
			if refusal := check.refuse(s, podAsk{pod: variant, queue: queue, books: s.Snapshot.Held()}); refusal != nil {
				refused = append(refused, refusal)
			}
		}
		if len(refused) == len(variants) {
			results[i].Refusal = refused[0]
		}
	}
	return results
}

// podDevicesReady refuses devices while it is unknown which are in use.
func (s *Session) podDevicesReady(podAsk) report.Refusal {
	if s.DevicesNotReady != nil {
		return s.DevicesNotReady
	}
	return nil
}

// podDeviceQuotaReady refuses devices while a quota on the way to the root is unknown.
func (s *Session) podDeviceQuotaReady(ask podAsk) report.Refusal {
	if notReady := s.Snapshot.DeviceQuotaNotReady(ask.queue); notReady != nil {
		return notReady
	}
	return nil
}

// podCountable refuses a pod whose demand cannot be counted. If the scheduler does not allocate devices, it ignores
// pods with claims in queues without device limits.
func (s *Session) podCountable(ask podAsk) report.Refusal {
	err := ask.pod.Err
	if err == nil || ask.pod.HasClaims && errors.Is(err, devices.ErrNotEnabled) && !s.Snapshot.LimitsDevices(ask.queue) {
		return nil
	}
	if errors.As(err, new(demand.UnknownResourceError)) {
		return nil // see podResourcesKnown
	}
	return report.Uncountable{Err: err}
}

// podResourcesKnown refuses a pod that asks for a resource that no node offers.
func (s *Session) podResourcesKnown(ask podAsk) report.Refusal {
	if ask.pod.Err == nil {
		return nil
	}
	var unknown demand.UnknownResourceError // allocated only if needed
	if !errors.As(ask.pod.Err, &unknown) {
		return nil
	}
	return report.ResourceUnknown{UnknownResourceError: unknown, Queue: s.Snapshot.Top(ask.queue)}
}

// podCapacityInUse refuses devices of limited capacity while the used capacity is unknown.
func (s *Session) podCapacityInUse(ask podAsk) report.Refusal {
	return s.Snapshot.CapacityInUseUnknown(ask.queue, ask.pod.Wants)
}

// podDevicesListed refuses devices if a listed class is required, but no queue on the way to the root lists one of theirs.
func (s *Session) podDevicesListed(ask podAsk) report.Refusal {
	return s.Snapshot.RefuseUnlistedPod(ask.queue, ask.pod)
}

// podCardsReady refuses cards while their use or the quotas are unknown.
func (s *Session) podCardsReady(ask podAsk) report.Refusal {
	return s.refuseCards(ask.queue)
}

// podCardsNamed refuses cards that no node label names, in a queue that limits cards.
func (s *Session) podCardsNamed(ask podAsk) report.Refusal {
	unnamed := ask.pod.UnnamedCards
	if ask.pod.Cards != nil {
		unnamed = ask.pod.Cards.Unnamed()
	}
	if unnamed == "" || !s.Snapshot.Ledger.ListsCards(ask.queue) {
		return nil
	}
	return report.CardUnnamed{Resource: unnamed}
}

// podQuota refuses a pod if the queue or an ancestor has no room for it.
func (s *Session) podQuota(ask podAsk) report.Refusal {
	refused, err := ask.books.Fits(ask.queue, s.Snapshot.Asked(ask.pod))
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused == nil:
		return nil
	}
	var state cards.State
	if refused.Dimension.Kind == ledger.Card && s.Snapshot.LimitsCards(ask.pod) {
		state, _ = cards.PreFilter(ask.books, ask.pod) // without it, the message names only the first card
	}
	return withNodes(s.Exceeded(ask.queue, ask.pod, refused, state), s.noNodeFor(ask.pod))
}
