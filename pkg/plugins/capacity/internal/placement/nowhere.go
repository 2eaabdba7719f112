// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"volcano.sh/volcano/pkg/scheduler/api"
)

// maxKinds is the maximum number of kinds of pods per job for which the search finds out whether they could ever start.
const maxKinds = 16

// StartsNowhere reports whether no node would have the cpu, memory, and devices for a pod, even if no other pod had any. kinds has the known
// answers for pods that ask for the same devices.
func (s *Session) StartsNowhere(task *api.TaskInfo, kinds map[[32]byte]bool) bool {
	nowhere := true
	for _, node := range s.Volcano.NodeList {
		if hasAllocatable(node, task) {
			nowhere = false
			break
		}
	}
	placements := s.existing(task)
	if nowhere || len(placements) != 1 || !placements[0].begun || placements[0].devices == nil || s.Snapshot.Known(task.Pod).RequestsExtended() {
		return nowhere // extended resources may be served in several ways
	}
	state := placements[0].devices
	nowhere, known := kinds[state.Alike()]
	if known || len(kinds) >= maxKinds {
		return nowhere
	}
	nowhere = true
	for _, node := range s.Volcano.NodeList {
		if !s.Devices.InVain(state, node.Node) {
			nowhere = false
			break
		}
	}
	kinds[state.Alike()] = nowhere
	return nowhere
}

func hasAllocatable(node *api.NodeInfo, task *api.TaskInfo) bool {
	return task.InitResreq.MilliCPU <= node.Allocatable.MilliCPU && task.InitResreq.Memory <= node.Allocatable.Memory
}
