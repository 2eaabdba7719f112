// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// report reports why the pods and jobs refused in this session wait, and which queues have problems.
func (p *plugin) report() {
	p.elastic.RefuseForGood()
	p.elastic.RefuseUnplaced()
	p.elastic.TellWaiting()
	p.cache.report.Refusals(p.session.Jobs)
	p.cache.report.Problems(p.snapshot.Problems, p.session.Queues)
	p.logReclaim()
	if p.devices != nil {
		p.cache.report.DeviceConflicts(p.devices.Conflicts())
		p.cache.report.ContestedResources(p.devices.Catalog.Contested())
	}
	if p.checks.CardsNotReady == nil { // otherwise, the session may still lack jobs
		p.cache.report.Unattributed(p.snapshot.Unattributed())
	}
	if p.cache.outsiders != nil {
		p.cache.report.MissingQueues(p.cache.outsiders.FindWithoutQueue(p.session.Queues))
	}
}

// publish updates the metrics of queues.
func (p *plugin) publish() {
	p.cache.report.Metrics(&report.Accounts{
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held(), Total: p.snapshot.ClusterTotal,
		Dimensions: p.snapshot.Dimensions, Resources: p.snapshot.Resources, Queues: p.session.Queues,
		Complete: p.checks.NotReady() == nil,
	})
}
