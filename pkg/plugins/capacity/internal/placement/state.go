// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/settings"
)

// stateKey is the key of the state in the CycleState of a pod.
const stateKey fwk.StateKey = "devicequota/" + settings.Name

// state is everything that a scheduling cycle knows about one pod. Volcano keeps it in the CycleState of the pod. It
// clones it for simulations of preemption, which run in parallel on several nodes.
type state struct {
	// simulated is the ledger as changed by a simulation. It is nil until the simulation changes something. Each clone has its own.
	simulated *ledger.Ledger
	// placements are shared by all clones, because simulations do not change them. There are none for a pod that asks for neither
	// devices nor cards. There are several for a pod with several ways to get its extended resources.
	placements []*Placement
}

// Placement is what a cycle knows about the devices and cards of one pod or variant.
type Placement struct {
	// Unbindable says why the pod must not be bound although it has a node. Then the pod is charged nothing.
	Unbindable error
	// StandIns is what a pod is charged in place of claims that it does not pay for yet: it is pipelined, or inherits them.
	StandIns ledger.Demand

	// task identifies the pod. Its status may be outdated, because Volcano also works on copies of tasks.
	task *api.TaskInfo
	pod  *demand.Pod

	// refused says why no node suits this variant of the pod. It is nil if some node may.
	refused report.Refusal
	// begun says that the fields below are set: nodes are filtered.
	begun bool
	// held is the ledger with what releasing pods still held when filtering began.
	held *ledger.Ledger
	// exceeded says why the quota allows no node until other pods have gone. It is nil if the quota allows some.
	exceeded report.Refusal
	// cards says which of the pod's possible cards the quota refuses. It is nil if no queue limits these cards.
	cards cards.State
	// devices has the claims of the pod and the picked devices. It is nil for a pod without claims.
	devices *devices.State
}

// Clone implements fwk.StateData.
func (s *state) Clone() fwk.StateData {
	clone := *s
	if s.simulated != nil {
		clone.simulated = s.simulated.View()
	}
	return &clone
}

// stateIn returns the state of a pod in a CycleState, nil if there is none.
func stateIn(cycle fwk.CycleState) *state {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil
	}
	known, _ := data.(*state)
	return known
}

// stateOf returns the state of a pod in this session. It creates the state if there is none.
func (s *Session) stateOf(task *api.TaskInfo) *state {
	cycle := s.Volcano.GetCycleState(task.UID)
	if known := stateIn(cycle); known != nil {
		return known
	}
	added := &state{}
	cycle.Write(stateKey, added)
	return added
}

// of returns the placement of a pod or variant that asks for devices or cards. It creates the placement if there is none.
func (s *Session) of(task *api.TaskInfo, pod *demand.Pod) *Placement {
	known := s.stateOf(task)
	if placement := placementFor(known.placements, pod); placement != nil {
		return placement
	}
	added := &Placement{task: task, pod: pod}
	known.placements = append(known.placements, added)
	return added
}

func placementFor(placements []*Placement, pod *demand.Pod) *Placement {
	for _, placement := range placements {
		if placement.pod == pod {
			return placement
		}
	}
	return nil
}

// existing returns the placements of a pod.
func (s *Session) existing(task *api.TaskInfo) []*Placement {
	if known := stateIn(s.Volcano.GetCycleState(task.UID)); known != nil {
		return known.placements
	}
	return nil
}

// Of returns the placement of the variant of a pod that counts, nil if there is none.
func (s *Session) Of(task *api.TaskInfo) *Placement {
	return placementFor(s.existing(task), s.Snapshot.Known(task.Pod))
}

// Promised returns what a pod is charged in place of claims that it does not pay for yet.
func (s *Session) Promised(task *api.TaskInfo) ledger.Demand {
	if placement := s.Of(task); placement != nil {
		return placement.StandIns
	}
	return nil
}

// on returns the placement of a pod for a node, nil if there is none.
func (s *Session) on(task *api.TaskInfo, node *api.NodeInfo) *Placement {
	placements := s.current.placements
	if s.current.pod != task.Pod {
		placements = s.existing(task)
	}
	if len(placements) == 1 {
		return placements[0]
	}
	if len(placements) == 0 {
		return nil
	}
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil {
		return nil
	}
	return placementFor(placements, pod.On(dra.Served(node.Node)))
}

// Simulation returns the ledger of a simulation, to be changed.
func (s *Session) Simulation(cycle fwk.CycleState) (*ledger.Ledger, error) {
	known := stateIn(cycle)
	if known == nil {
		return nil, errors.New("PrePredicate of the pod has not run")
	}
	if known.simulated == nil {
		known.simulated = s.Snapshot.Ledger.View()
	}
	return known.simulated, nil
}

// SimulationWith returns the ledger of a simulation, and the demand of a pod to be added or removed there.
func (s *Session) SimulationWith(cycle fwk.CycleState, task *api.TaskInfo) (*ledger.Ledger, *demand.Pod, error) {
	books, err := s.Simulation(cycle)
	if err != nil {
		return nil, nil, err
	}
	pod, err := s.Snapshot.PodOf(task)
	return books, pod, err
}
