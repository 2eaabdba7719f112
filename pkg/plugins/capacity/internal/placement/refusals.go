// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Refusal returns why filtering found no node for a pod, for each way to get its extended resources that has a reason. It is nil
// if there is another reason.
func (s *Session) Refusal(task *api.TaskInfo) report.Refusal {
	var variants []*demand.Pod
	var refusals []report.Refusal
	for _, placement := range s.existing(task) {
		refusal := placement.refused
		if refusal == nil && placement.begun {
			refusal = s.refusalOfNodes(placement)
		}
		if refusal != nil {
			variants, refusals = append(variants, placement.pod), append(refusals, refusal)
		}
	}
	if len(refusals) == 0 {
		return nil
	}
	return report.RefuseEachWay(variants, refusals)
}

// refusalOfNodes returns why filtering found no node: the quota refused the pod or the picked devices, no node has the
// devices, or no node has the allowed cards. It is nil if there is another reason.
func (s *Session) refusalOfNodes(placement *Placement) report.Refusal {
	if placement.exceeded != nil {
		return placement.exceeded
	}
	if placement.devices != nil {
		if refusal := placement.devices.Refusal(); refusal != nil {
			return refusal
		}
		if placement.devices.Insufficient() && report.Waits(s.Volcano.Jobs, placement.task.Job, placement.task.UID) {
			return s.Devices.Insufficient(placement.devices)
		}
	}
	return s.refusalOfCards(placement)
}

// refusalOfCards explains why a pod that may choose among cards waits: the quota refuses some of the cards, and no node
// can take the pod with the others.
func (s *Session) refusalOfCards(placement *Placement) report.Refusal {
	job := s.Volcano.Jobs[placement.task.Job]
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
	return report.NoNodeForOtherCards{QuotaExceeded: report.QuotaExceeded{Quota: refusals.Quota{Refusal: refused}}, Others: others, Nodes: nodes.Error()}
}
