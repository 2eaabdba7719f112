// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Begin begins a cycle of a pod. It reports whether the pod asks for devices or cards: then its nodes are filtered after PreFilter.
func (s *Session) Begin(task *api.TaskInfo) (filters bool) {
	known := s.stateOf(task)
	known.simulated = nil
	pod := s.Snapshot.Known(task.Pod)
	s.current = currentPod{pod: task.Pod, placements: known.placements, anywhere: pod == nil || !pod.RequestsExtended()}
	return s.filters(pod)
}

// PreFilter prepares the placements of a pod that asks for devices or cards: one for each way to get its extended resources. The refusal
// says why no node is suitable.
func (s *Session) PreFilter(task *api.TaskInfo) report.Refusal {
	pod := s.Snapshot.Known(task.Pod)
	if s.Devices != nil {
		if refusal := s.Devices.RefuseStale(pod); refusal != nil {
			return refusal
		}
	}
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*demand.Pod{pod}
	}
	refusals := make([]report.Refusal, len(variants))
	for i, variant := range variants {
		placement := s.of(task, variant)
		placement.Unbindable, placement.refused = nil, nil
		if len(variants) > 1 { // the queue accepts the pod if it accepts one of the variants
			placement.refused = s.Checks.ForGood(variant)
		}
		if placement.refused == nil {
			placement.refused = s.preFilter(placement)
		}
		refusals[i] = placement.refused
	}
	s.current.placements = s.existing(task)
	if slices.Contains(refusals, nil) {
		return nil
	}
	return report.RefuseEachWay(variants, refusals)
}

// preFilter computes what does not depend on the node, for a pod or variant. The refusal says why no node is suitable.
func (s *Session) preFilter(placement *Placement) report.Refusal {
	pod := placement.pod
	switch {
	case s.Checks.DevicesNotReady != nil && pod.HasClaims:
		return s.Checks.DevicesNotReady
	case pod.Err != nil:
		return report.Uncountable{Err: pod.Err}
	}
	held := s.Snapshot.Held()
	var ofDevices *devices.State
	if pod.HasClaims && s.Devices != nil {
		var refusal report.Refusal
		if ofDevices, refusal = s.Devices.PreFilter(pod, string(placement.task.Job), held, placement.devices); refusal != nil {
			return refusal
		}
	}
	var ofCards cards.State
	refused, err := held.Fits(pod.Queue, s.Snapshot.Asked(pod))
	if err == nil && s.Snapshot.LimitsCards(pod) {
		ofCards, err = cards.PreFilter(held, pod)
	}
	if err != nil {
		return report.Unplaceable{Err: err}
	}
	var exceeded report.Refusal
	if refused != nil {
		exceeded = s.Checks.Exceeded(pod.Queue, pod, refused, ofCards)
	}
	if !placement.begun {
		s.filtered = append(s.filtered, placement)
	}
	placement.begun, placement.held = true, held
	placement.exceeded, placement.cards, placement.devices = exceeded, ofCards, ofDevices
	return nil
}
