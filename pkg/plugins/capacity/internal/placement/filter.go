// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
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
	if planned, found := s.planned[task.UID]; found && planned != node.Name {
		return unsuitable(task, node, "is not the node that was chosen for the pod together with others")
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

// maxKinds is the maximum number of kinds of pods per job for which the search finds out whether they could ever start.
const maxKinds = 16

// StartsNowhere reports whether no node would have the cpu, memory, and devices for a pod, even if no other pod had any. kinds has the known
// answers for pods that ask for the same devices.
func (s *Session) StartsNowhere(task *api.TaskInfo, kinds map[[32]byte]bool) bool {
	nowhere := !slices.ContainsFunc(s.Volcano.NodeList, func(node *api.NodeInfo) bool {
		return task.InitResreq.MilliCPU <= node.Allocatable.MilliCPU && task.InitResreq.Memory <= node.Allocatable.Memory
	})
	placements := s.existing(task)
	if nowhere || len(placements) != 1 || !placements[0].begun || placements[0].devices == nil || s.Snapshot.Known(task.Pod).RequestsExtended() {
		return nowhere // extended resources may be served in several ways
	}
	state := placements[0].devices
	nowhere, known := kinds[state.Alike()]
	if known || len(kinds) >= maxKinds {
		return nowhere
	}
	nowhere = !slices.ContainsFunc(s.Volcano.NodeList, func(node *api.NodeInfo) bool { return !s.Devices.InVain(state, node.Node) })
	kinds[state.Alike()] = nowhere
	return nowhere
}

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
			return cmp.Or(s.Checks.NeverFits(placement.pod), s.Devices.Insufficient(placement.devices, s.Volcano.Jobs[placement.task.Job].ContainsHardTopology()))
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
