// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Place charges a pod that asks for devices or cards, and reserves its devices.
func (s *Session) Place(pod *demand.Pod, task *api.TaskInfo) error {
	placement := s.of(task, pod)
	s.Snapshot.AssignCards(pod, task)
	placement.Unbindable = s.reserve(placement, task)
	switch {
	case placement.Unbindable != nil:
		s.Snapshot.UnassignCards(pod)
	case task.Status == api.Pipelined:
		placement.StandIns = append(placement.StandIns, s.Snapshot.Pipeline(pod, task)...)
	default:
		placement.StandIns = append(placement.StandIns, s.Snapshot.Allocate(pod, task)...)
	}
	return placement.Unbindable
}

// reserve reserves the devices and checks the quota of an allocated pod. For a pipelined pod, it promises devices that
// are free after other pods have gone.
func (s *Session) reserve(placement *Placement, task *api.TaskInfo) error {
	switch task.Status {
	case api.Allocated:
		err := s.reserveDevices(placement, task)
		if err == nil {
			err = s.Snapshot.FitsHeld(placement.pod)
		}
		if err != nil && s.Devices != nil {
			s.Devices.Unreserve(placement.pod)
		}
		return err
	case api.Pipelined:
		if err := s.Snapshot.FitsCards(placement.pod); err != nil {
			return err
		}
		return s.reserveDevices(placement, task)
	default:
		return nil // the pod runs, and its eviction was undone
	}
}

// reserveDevices reserves the devices of an allocated pod. It ensures that a pipelined pod gets its devices after other pods have left
// the node. Volcano does not know devices: it would pipeline the pod to any node with leaving pods.
func (s *Session) reserveDevices(placement *Placement, task *api.TaskInfo) error {
	if !placement.begun {
		return nil
	}
	node, found := s.Volcano.Nodes[task.NodeName]
	switch {
	case !found:
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	case placement.devices == nil:
		return nil
	case task.Status == api.Pipelined:
		return s.Devices.Promise(placement.devices, node.Node, s.leaving(node))
	default:
		return s.Devices.Reserve(placement.devices, node.Node)
	}
}

// leaving returns the pods on a node that are leaving.
func (s *Session) leaving(node *api.NodeInfo) []*demand.Pod {
	var leaving []*demand.Pod
	for _, task := range node.Tasks {
		if pod := s.Snapshot.Known(task.Pod); pod != nil && s.Snapshot.IsLeaving(task) {
			leaving = append(leaving, pod)
		}
	}
	return leaving
}

// Obtainable returns the amounts of a pod's devices on a node if these pods were gone. The error says why the pod could not have
// its devices there even then.
func (s *Session) Obtainable(task *api.TaskInfo, node *api.NodeInfo, gone []*demand.Pod) (ledger.Amounts, error) {
	placement := s.on(task, node)
	if placement == nil || !placement.begun || placement.devices == nil {
		return nil, errors.New("PrePredicate of the pod has not run")
	}
	return s.Devices.Obtainable(placement.devices, node.Node, append(s.leaving(node), gone...))
}

// Published returns the number of devices of a class, zero if the scheduler does not allocate devices.
func (s *Session) Published(class string) int64 {
	if s.Devices == nil {
		return 0
	}
	return s.Devices.Published(class)
}
