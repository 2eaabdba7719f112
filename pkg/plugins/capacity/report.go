// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// report reports why the pods and jobs refused in this session wait, and which queues have problems.
func (p *plugin) report() {
	p.refuseForGood()
	p.refuseUnplaced()
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

// refuseForGood reports the pods that Volcano found no node for, and for which no node would do even if it were empty.
func (p *plugin) refuseForGood() {
	for _, job := range p.session.Jobs {
		for id := range job.NodesFitErrors {
			task := job.TaskStatusIndex[api.Pending][id]
			if task == nil || p.cache.report.Refused(id) {
				continue
			}
			if pod := p.snapshot.Known(task.Pod); pod != nil {
				if never := p.checks.NeverFits(pod); never != nil {
					p.cache.report.RefusePod(nil, task, never)
				}
			}
		}
	}
}

// refuseUnplaced reports the pods for which filtering found no node.
func (p *plugin) refuseUnplaced() {
	p.placements.Filtered(func(task *api.TaskInfo) {
		if p.cache.report.Refused(task.UID) {
			return
		}
		if refusal := p.placements.Refusal(task); refusal != nil {
			p.cache.report.RefusePod(nil, task, p.elastic.Explained(task.Job, refusal))
		}
	})
}

// publish updates the metrics of queues.
func (p *plugin) publish() {
	p.cache.report.Metrics(&report.Accounts{
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held(), Total: p.snapshot.ClusterTotal,
		Dimensions: p.snapshot.Dimensions, Resources: p.snapshot.Resources, Queues: p.session.Queues,
		Complete: p.checks.NotReady() == nil,
	})
}
