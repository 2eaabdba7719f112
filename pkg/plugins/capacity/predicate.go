// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// predicate is Volcano's PredicateFn: does the node have the cards and devices that the pod asks for, and does the
// quota allow just these? Volcano calls it for several nodes at the same time.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	if err := p.refuseKept(task, node); err != nil {
		return err
	}
	if p.solves != nil && p.solves.Checking() {
		return nil
	}
	placement := p.current.placement
	if p.current.pod != task.Pod {
		placement = p.existingPlacement(task)
	}
	if placement == nil || !placement.begun {
		return nil
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

func (p *plugin) filter(placement *placement, node *api.NodeInfo) *report.NodeRefusal {
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
