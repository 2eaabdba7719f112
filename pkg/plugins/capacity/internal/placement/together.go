// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// Group is a node and the pods that are to go there.
type Group struct {
	Node  *api.NodeInfo
	Tasks []*api.TaskInfo
}

// PickTogether picks devices for pods on several nodes that all of them can have at the same time, within the quota. PrePredicate must have run for each pod. The
// result is false if there are no such devices, or none are found.
func (s *Session) PickTogether(groups []Group, effort *dra.Effort) (devices.Choice, bool) {
	var asking []devices.Group
	var queue ledger.QueueID
	var others ledger.Demand // of pods that need no devices
	for _, group := range groups {
		pods := devices.Group{Node: group.Node.Node}
		for _, task := range group.Tasks {
			pod, placement := s.Snapshot.Known(task.Pod), s.on(task, group.Node)
			if placement != nil && placement.begun {
				if placement.exceeded != nil {
					return nil, false
				}
				if placement.devices != nil {
					pods.Pods = append(pods.Pods, placement.devices)
					continue
				}
				pod = placement.pod
			}
			if pod != nil && pod.InLedger {
				queue, others = pod.Queue, append(others, pod.Checked...)
				if cards := s.LimitedCardsOn(pod, group.Node.Node); cards != nil {
					others = append(others, cards)
				}
			}
		}
		if len(pods.Pods) > 0 {
			asking = append(asking, pods)
		}
	}
	switch {
	case len(asking) == 0 && len(others) == 0:
		return nil, true
	case len(asking) == 0:
		refused, err := s.Snapshot.Held().Fits(queue, others)
		return nil, refused == nil && err == nil
	}
	choice, err := s.Devices.PickTogether(asking, others, effort)
	return choice, err == nil && choice != nil
}

// Follow sends pods to the nodes of their groups and gives them their devices, until it is called again. No other pods must be placed in between. No groups
// end it.
func (s *Session) Follow(groups []Group, choice devices.Choice) {
	s.planned = map[api.TaskID]string{}
	for _, group := range groups {
		for _, task := range group.Tasks {
			s.planned[task.UID] = group.Node.Name
		}
	}
	s.Devices.Follow(choice)
}

// Follows reports whether pods are sent to nodes.
func (s *Session) Follows() bool { return len(s.planned) > 0 }

// Excludes reports whether pods are sent to nodes, and a pod is not one of them.
func (s *Session) Excludes(task *api.TaskInfo) bool { return s.Follows() && s.planned[task.UID] == "" }

// EffortTogether returns the effort for the search for all pods of a job together in this session. It is nil if the scheduler does not allocate devices.
func (s *Session) EffortTogether(queue string, job api.JobID) *dra.Effort {
	if s.Devices == nil {
		return nil
	}
	return s.Devices.EffortTogether(queue, string(job))
}

// Simple reports whether it does not matter which of the suitable devices a pod gets, if all others that ask for devices are alike.
func (s *Session) Simple(task *api.TaskInfo) bool {
	return !slices.ContainsFunc(s.existing(task), func(p *Placement) bool { return p.devices != nil && !s.Devices.Simple(p.devices) })
}

// Coupled reports whether the devices that a pod gets on one node may decide what others get on other nodes.
func (s *Session) Coupled(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.existing(task), func(p *Placement) bool { return p.devices != nil && s.Devices.Coupled(p.devices) })
}

// ChoosesCards reports whether the quota counts cards of a pod that depend on its node.
func (s *Session) ChoosesCards(task *api.TaskInfo) bool {
	pod := s.Snapshot.Known(task.Pod)
	return pod != nil && s.Snapshot.LimitsCards(pod)
}
