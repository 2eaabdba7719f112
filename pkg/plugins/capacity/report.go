package capacity

import (
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// report tells people why the pods and jobs wait that were refused in this session, and which queues have
// problems.
func (p *plugin) report() {
	for _, state := range p.filtered {
		if p.cache.report.Refused(state.task.UID) {
			continue
		}
		if refusal := p.refusalOfNodes(state); refusal != nil {
			p.cache.report.RefusePod(nil, state.task, refusal)
		}
	}
	p.cache.report.Refusals(p.session.Jobs)
	p.cache.report.Problems(p.snapshot.Problems, p.session.Queues)
}

// refusalOfNodes says why filtering found no node: the quota refused the pod or what was picked for it, or no node has
// the devices. It is nil if it was something else.
func (p *plugin) refusalOfNodes(state *podState) report.Refusal {
	switch {
	case state.exceeded != nil:
		return state.exceeded
	case state.devices == nil:
		return nil
	}
	if refusal := state.devices.Refusal(); refusal != nil {
		return refusal
	}
	if state.devices.Insufficient() && report.Waits(p.session.Jobs, state.task.Job, state.task.UID) {
		return p.devices.Insufficient(state.devices)
	}
	return nil
}

// publish updates the metrics of queues.
func (p *plugin) publish() {
	p.cache.report.Metrics(&report.Accounts{
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held(), Total: p.snapshot.ClusterTotal,
		Dimensions: p.snapshot.Dimensions, Resources: p.snapshot.Resources, Queues: p.session.Queues,
	})
}
