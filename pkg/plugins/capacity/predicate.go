package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// predicate is Volcano's PredicateFn: does the node have the cards and devices that the pod asks for, and does the
// quota allow just these? Volcano calls it for several nodes at the same time.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	state := p.existingState(task)
	if state == nil || !state.filtering {
		return nil
	}
	refusal := p.filter(state, node)
	if refusal == nil {
		return nil
	}
	code := api.Unschedulable
	if refusal.Unresolvable {
		code = api.UnschedulableAndUnresolvable
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: refusal.Message, Plugin: Name})
}

func (p *plugin) filter(state *podState, node *api.NodeInfo) *report.NodeRefusal {
	if state.pod.Cards != nil {
		if refusal := p.cards.Filter(state.held, state.cards, state.pod, node); refusal != nil {
			return refusal
		}
	}
	if state.exceeded != nil {
		return &report.NodeRefusal{Message: state.exceeded.Message()}
	}
	if state.devices != nil {
		return p.devices.Filter(state.devices, node.Node)
	}
	return nil
}
