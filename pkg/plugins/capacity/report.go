// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// report tells people why the pods and jobs wait that were refused in this session, and which queues have
// problems.
func (p *plugin) report() {
	for _, placement := range p.filtered {
		if p.cache.report.Refused(placement.task.UID) {
			continue
		}
		if refusal := p.refusalOfVariants(placement.task); refusal != nil {
			p.cache.report.RefusePod(nil, placement.task, p.explained(placement.task.Job, refusal))
		}
	}
	p.tellWaiting()
	p.cache.report.Refusals(p.session.Jobs)
	p.cache.report.Problems(p.snapshot.Problems, p.session.Queues)
	p.logReclaim()
	if p.devices != nil {
		p.cache.report.DeviceConflicts(p.devices.Conflicts())
		p.cache.report.ContestedResources(p.devices.Catalog.Contested())
	}
	if p.cardsNotReady == nil { // otherwise the session may lack jobs that come yet
		p.cache.report.Unattributed(p.snapshot.Unattributed())
	}
	if p.cache.stranded != nil {
		p.cache.report.MissingQueues(p.cache.stranded.find(p.session.Queues))
	}
}

// refusalOfVariants says why filtering found no node for a pod, in each way of getting its extended resources that had a reason. It is nil
// if it was something else.
func (p *plugin) refusalOfVariants(task *api.TaskInfo) report.Refusal {
	var each report.EachWay
	for _, placement := range p.existingPlacements(task) {
		refusal := placement.refused
		if refusal == nil && placement.begun {
			refusal = p.refusalOfNodes(placement)
		}
		if refusal != nil {
			each.Served, each.Refusals = append(each.Served, placement.pod.Served()), append(each.Refusals, refusal)
		}
	}
	switch len(each.Refusals) {
	case 0:
		return nil
	case 1:
		return each.Refusals[0]
	default:
		return each
	}
}

// refusalOfNodes says why filtering found no node: the quota refused the pod or what was picked for it, no node has
// the devices, or no node has the cards that the quota allows. It is nil if it was something else.
func (p *plugin) refusalOfNodes(placement *placement) report.Refusal {
	if placement.exceeded != nil {
		return placement.exceeded
	}
	if placement.devices != nil {
		if refusal := placement.devices.Refusal(); refusal != nil {
			return refusal
		}
		if placement.devices.Insufficient() && report.Waits(p.session.Jobs, placement.task.Job, placement.task.UID) {
			return p.devices.Insufficient(placement.devices)
		}
	}
	return p.refusalOfCards(placement)
}

// refusalOfCards explains why a pod that may choose among cards waits, if the quota refuses some of the cards and no
// node can take the pod with the others.
func (p *plugin) refusalOfCards(placement *placement) report.Refusal {
	job := p.jobOf(placement.task)
	if job == nil || job.TaskStatusIndex[api.Pending][placement.task.UID] == nil {
		return nil
	}
	nodes := job.NodesFitErrors[placement.task.UID]
	if nodes == nil {
		return nil
	}
	refused, others := placement.cards.Partly(placement.pod)
	if refused == nil {
		return nil
	}
	return report.NoNodeForOtherCards{QuotaExceeded: report.QuotaExceeded{Refusal: refused}, Others: others, Nodes: nodes.Error()}
}

// publish updates the metrics of queues.
func (p *plugin) publish() {
	p.cache.report.Metrics(&report.Accounts{
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held(), Total: p.snapshot.ClusterTotal,
		Dimensions: p.snapshot.Dimensions, Resources: p.snapshot.Resources, Queues: p.session.Queues,
		Complete: p.devicesNotReady == nil && p.cardsNotReady == nil,
	})
}
