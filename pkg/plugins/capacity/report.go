// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// report tells people why the pods and jobs wait that were refused in this session, and which queues have
// problems.
func (p *plugin) report() {
	for _, placement := range p.filtered {
		if p.cache.report.Refused(placement.task.UID) {
			continue
		}
		if refusal := p.refusalOfNodes(placement); refusal != nil {
			p.cache.report.RefusePod(nil, placement.task, refusal)
		}
	}
	p.cache.report.Refusals(p.session.Jobs)
	p.cache.report.Problems(p.snapshot.Problems, p.session.Queues)
	if p.cardsNotReady == nil { // otherwise the session may lack jobs that come yet
		p.cache.report.Unattributed(p.snapshot.Unattributed())
	}
}

// refusalOfNodes says why filtering found no node: the quota refused the pod or what was picked for it, or no node has
// the devices. It is nil if it was something else.
func (p *plugin) refusalOfNodes(placement *placement) report.Refusal {
	switch {
	case placement.exceeded != nil:
		return placement.exceeded
	case placement.devices == nil:
		return nil
	}
	if refusal := placement.devices.Refusal(); refusal != nil {
		return refusal
	}
	if placement.devices.Insufficient() && report.Waits(p.session.Jobs, placement.task.Job, placement.task.UID) {
		return p.devices.Insufficient(placement.devices)
	}
	return nil
}

// publish updates the metrics of queues.
func (p *plugin) publish() {
	p.cache.report.Metrics(&report.Accounts{
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held(), Total: p.snapshot.ClusterTotal,
		Dimensions: p.snapshot.Dimensions, Resources: p.snapshot.Resources, Queues: p.session.Queues,
		Complete: p.devicesNotReady == nil && p.cardsNotReady == nil,
	})
}
