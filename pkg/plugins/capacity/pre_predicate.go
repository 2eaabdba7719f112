// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"fmt"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// prePredicate is Volcano's PrePredicateFn. It prepares the state of the pod for filtering and for simulations. It
// also checks pods that request no resources: the backfill action places them without asking an AllocatableFn.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	state := p.stateOf(task)
	state.simulated = nil
	pod := p.snapshot.Known(task.Pod)
	p.current = currentPod{pod: task.Pod, placements: state.placements, anywhere: pod == nil || !pod.RequestsExtended()}
	filters := pod != nil && (pod.Cards != nil || pod.MayGetDevices() && p.devices != nil)
	if !task.BestEffort && !filters && !p.evicting {
		return nil
	}
	job := p.jobOf(task)
	if job == nil {
		return nil
	}
	if p.evicting && p.decides(job) {
		return errElsewhere
	}
	if !task.BestEffort && !filters {
		return nil
	}
	queue, found := p.session.Queues[job.Queue]
	if !found {
		return fmt.Errorf("queue %s does not exist", job.Queue)
	}
	if task.BestEffort {
		if refusal := p.refusePod(p.snapshot.Ledger, queue, task); refusal != nil {
			return p.refuseNodes(task, refusal)
		}
	}
	if !filters {
		return nil
	}
	return p.preFilter(task, pod)
}

// preFilter prepares the placements of a pod that asks for devices or cards: one for each way of getting its extended resources.
func (p *plugin) preFilter(task *api.TaskInfo, pod *demand.Pod) error {
	if !pod.InLedger {
		return errors.New("the queue of the pod takes no pods")
	}
	if p.devices != nil {
		if refusal := p.devices.RefuseStale(pod); refusal != nil {
			return p.refuseNodes(task, refusal)
		}
	}
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*demand.Pod{pod}
	}
	refusals := make([]report.Refusal, len(variants))
	for i, variant := range variants {
		placement := p.placementOf(task, variant)
		placement.unbindable, placement.refused = nil, nil
		if len(variants) > 1 { // the queue takes the pod if it takes one of the variants
			placement.refused = p.refuseForGood(podAsk{pod: variant, queue: variant.Queue, books: p.snapshot.Ledger})
		}
		if placement.refused == nil {
			placement.refused = p.refuseFiltering(placement)
		}
		refusals[i] = placement.refused
	}
	p.current.placements = p.existingPlacements(task)
	if slices.Contains(refusals, nil) {
		return nil
	}
	if len(variants) > 1 {
		return p.refuseNodes(task, report.EachWay{Served: servedOf(variants), Refusals: refusals})
	}
	return p.refuseNodes(task, refusals[0])
}

// refuseFiltering prepares the placement of a pod or variant. The refusal says why no node is suitable.
func (p *plugin) refuseFiltering(placement *placement) report.Refusal {
	switch pod := placement.pod; {
	case p.devicesNotReady != nil && pod.HasClaims:
		return p.devicesNotReady
	case pod.Err != nil:
		return report.Uncountable{Err: pod.Err}
	default:
		return p.beginFiltering(placement)
	}
}

// beginFiltering finds out what does not depend on the node. The refusal says why no node is suitable.
func (p *plugin) beginFiltering(placement *placement) report.Refusal {
	pod, held := placement.pod, p.snapshot.Held()
	var ofDevices *devices.State
	if pod.HasClaims && p.devices != nil {
		var refusal report.Refusal
		if ofDevices, refusal = p.devices.PreFilter(pod, held, placement.devices); refusal != nil {
			return refusal
		}
	}
	var ofCards cards.State
	refused, err := held.Fits(pod.Queue, p.snapshot.Asked(pod))
	if err == nil && p.snapshot.LimitsCards(pod) {
		ofCards, err = cards.PreFilter(held, pod)
	}
	if err != nil {
		return report.Unplaceable{Err: err}
	}
	var exceeded report.Refusal
	if refused != nil {
		exceeded = p.exceeded(pod.Queue, pod, refused, ofCards)
	}
	if !placement.begun {
		p.filtered = append(p.filtered, placement)
	}
	placement.begun, placement.held = true, held
	placement.exceeded, placement.cards, placement.devices = exceeded, ofCards, ofDevices
	return nil
}

// refuseNodes reports why no node is suitable for a pod, and returns it as an error.
func (p *plugin) refuseNodes(task *api.TaskInfo, refusal report.Refusal) error {
	p.cache.report.RefusePod(p.jobOf(task), task, refusal)
	return errors.New(refusal.Message())
}
