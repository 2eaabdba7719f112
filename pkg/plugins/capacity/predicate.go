// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// predicate is Volcano's PredicateFn: does the node have the cards and devices that the pod asks for, and does the
// quota allow just these? Volcano calls it for several nodes at the same time.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	if err := p.refuseKept(task, node); err != nil {
		return err
	}
	if p.outdated[node.Name] {
		return unsuitable(task, node, "lists an extended resource that no DeviceClass offers any more")
	}
	if p.solves != nil && p.solves.Checking() {
		return nil
	}
	placement := p.placementOn(task, node)
	if placement == nil || !placement.begun && placement.refused == nil {
		return p.refuseElsewhere(task, node)
	}
	refusal := p.filter(placement, node)
	if refusal == nil {
		return nil
	}
	code := api.Unschedulable
	if refusal.Unresolvable {
		code = api.UnschedulableAndUnresolvable
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: refusal.Message, Plugin: Name})
}

// refuseElsewhere returns an error if a pod cannot get its extended resources on a node: device plugins serve them there, and the node is
// new since the session began.
func (p *plugin) refuseElsewhere(task *api.TaskInfo, node *api.NodeInfo) error {
	if p.current.pod == task.Pod && p.current.anywhere {
		return nil // for speed alone
	}
	pod := p.snapshot.Known(task.Pod)
	if pod == nil || !pod.RequestsExtended() || pod.On(dra.Served(node.Node)) != nil {
		return nil
	}
	return unsuitable(task, node, "does not serve the extended resources of the pod")
}

// unsuitable returns the error for a node that no eviction makes suitable.
func unsuitable(task *api.TaskInfo, node *api.NodeInfo, reason string) error {
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: reason, Plugin: Name})
}

func (p *plugin) filter(placement *placement, node *api.NodeInfo) *report.NodeRefusal {
	if placement.refused != nil {
		return &report.NodeRefusal{Message: placement.refused.Message()}
	}
	if placement.pod.Cards != nil {
		if refusal := p.cards.Filter(placement.held, placement.cards, placement.pod, node); refusal != nil {
			return refusal
		}
	}
	if p.solves != nil && p.solves.Filtering() {
		return nil
	}
	if placement.exceeded != nil {
		inVain := placement.devices != nil && p.devices.InVain(placement.devices, node.Node)
		return &report.NodeRefusal{Message: placement.exceeded.Message(), Unresolvable: inVain}
	}
	if placement.devices != nil {
		return p.devices.Filter(placement.devices, node.Node)
	}
	return nil
}
