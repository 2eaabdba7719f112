// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// Sign appends, after PrePredicate of a pod, what decides besides its spec how Filter and Score answer for each node. Nodes give the same answers
// to pods with the same signature. The result is false if the answers depend on more: on other nodes, on claims that have devices already, or on what is
// left of a quota. A pod may get its extended resources in several ways, which are all signed.
func (s *Session) Sign(to []byte, task *api.TaskInfo) ([]byte, bool) {
	if !s.filters(s.Snapshot.Known(task.Pod)) {
		return append(to, 0), true
	}
	placements := s.existing(task)
	ok := len(placements) > 0
	for _, placement := range placements {
		if !ok || !placement.begun || placement.refused != nil || placement.exceeded != nil {
			return nil, false
		}
		if to, ok = placement.signCards(append(to, 1)); ok && placement.devices != nil {
			to, ok = s.Devices.Sign(to, placement.devices)
		}
	}
	return to, ok
}

// filters reports whether nodes are filtered for the devices or cards of a pod. The pod may be nil.
func (s *Session) filters(pod *demand.Pod) bool {
	return pod != nil && (pod.Cards != nil || pod.MayGetDevices() && s.Devices != nil)
}

func (p *Placement) signCards(to []byte) ([]byte, bool) {
	asked := p.pod.Cards
	if asked == nil {
		return to, true
	}
	// The quota is asked for each node if there are several requests.
	if asked.Assigned() || p.cards != nil && len(asked.Requests) > 1 {
		return nil, false
	}
	for _, refusals := range p.cards {
		if slices.ContainsFunc(refusals, func(r *ledger.Refusal) bool { return r != nil }) {
			return nil, false
		}
	}
	// Go's syntax is the same for equal requests only: users choose the names.
	return fmt.Appendf(to, "%t %#v %#v", p.cards != nil, asked.Names, asked.Requests), true
}

// PicksDevices reports whether Filter picks devices for a pod with a signature.
func (s *Session) PicksDevices(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.existing(task), func(p *Placement) bool { return p.devices != nil })
}

// RefusesDevices reports whether Filter has found out that the quota refuses devices of a pod with a signature: then the next pod with the same
// signature may get other answers.
func (s *Session) RefusesDevices(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.existing(task), func(p *Placement) bool { return p.devices != nil && p.devices.Refusal() != nil })
}

// Finding returns what Filter has found out about the devices of a node for a pod with a signature.
func (s *Session) Finding(task *api.TaskInfo, node *api.NodeInfo) devices.Finding {
	if placement := s.on(task, node); placement != nil && placement.devices != nil {
		return placement.devices.Finding(node.Name)
	}
	return 0
}

// Adopt makes a pod know what Filter has found out about a node for another pod with the same signature.
func (s *Session) Adopt(task *api.TaskInfo, node *api.NodeInfo, found devices.Finding) {
	if placement := s.on(task, node); placement != nil && placement.devices != nil {
		placement.devices.Adopt(node.Name, found)
	}
}
