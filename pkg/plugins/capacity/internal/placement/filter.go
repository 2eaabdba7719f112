// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/settings"
)

// Scope says for which reasons a node is refused.
type Scope int

// A pod that is placed needs all that it asks for. The search for victims asks which nodes could suit a pod when other pods have gone.
const (
	Everything Scope = iota
	// CardsOnly refuses nodes without cards that the pod can use, and neither for devices nor for quota.
	CardsOnly
	// OutdatedOnly refuses nodes that suit no pod.
	OutdatedOnly
)

// Filter refuses a node that lacks the requested cards and devices, or for which the quota forbids them. It is safe for concurrent use
// with several nodes.
func (s *Session) Filter(task *api.TaskInfo, node *api.NodeInfo, scope Scope) error {
	if s.Outdated[node.Name] {
		return unsuitable(task, node, "lists an extended resource that no DeviceClass offers any more")
	}
	if scope == OutdatedOnly {
		return nil
	}
	placement := s.on(task, node)
	if placement == nil || !placement.begun && placement.refused == nil {
		return s.refuseElsewhere(task, node)
	}
	refusal := s.filter(placement, node, scope)
	if refusal == nil {
		return nil
	}
	code := api.Unschedulable
	if refusal.Unresolvable {
		code = api.UnschedulableAndUnresolvable
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: refusal.Message, Plugin: settings.Name})
}

// refuseElsewhere returns an error if a pod cannot get its extended resources on a node: device plugins serve them there, and the node is
// new since the session began.
func (s *Session) refuseElsewhere(task *api.TaskInfo, node *api.NodeInfo) error {
	if s.current.pod == task.Pod && s.current.anywhere {
		return nil // only for speed
	}
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil || !pod.RequestsExtended() || pod.On(dra.Served(node.Node)) != nil {
		return nil
	}
	return unsuitable(task, node, "does not serve the extended resources of the pod")
}

// unsuitable returns the error for a node that no eviction makes suitable.
func unsuitable(task *api.TaskInfo, node *api.NodeInfo, reason string) error {
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: reason, Plugin: settings.Name})
}

func (s *Session) filter(placement *Placement, node *api.NodeInfo, scope Scope) *report.NodeRefusal {
	if placement.refused != nil {
		return &report.NodeRefusal{Message: placement.refused.Message()}
	}
	if placement.pod.Cards != nil {
		if refusal := s.Cards.Filter(placement.held, placement.cards, placement.pod, node); refusal != nil {
			return refusal
		}
	}
	if scope == CardsOnly {
		return nil
	}
	if placement.exceeded != nil {
		inVain := placement.devices != nil && s.Devices.InVain(placement.devices, node.Node)
		return &report.NodeRefusal{Message: placement.exceeded.Message(), Unresolvable: inVain}
	}
	if placement.devices != nil {
		return s.Devices.Filter(placement.devices, node.Node)
	}
	return nil
}
