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

// stateKey is where the CycleState of a pod has its state.
const stateKey fwk.StateKey = "devicequota/" + settings.Name

// state is all that a scheduling cycle knows of one pod. Volcano keeps it in the CycleState of the pod, and clones it
// for simulations of preemption, which run at the same time on several nodes.
type state struct {
	// simulated is the ledger as a simulation has changed it. It is nil while the simulation has changed nothing.
	// Each clone has its own.
	simulated *ledger.Ledger
	// placements are shared by all clones, because simulations do not change them. There are none for a pod that asks for neither
	// devices nor cards, and several for a pod that may get its extended resources in different ways.
	placements []*Placement
}

// Placement is what a cycle knows of the devices and cards of one pod, or of one variant of it.
type Placement struct {
	// Unbindable is why the pod must not be bound although it was given a node. The pod is charged nothing then.
	Unbindable error
	// Pipelined is what a pipelined pod is charged in place of its claims.
	Pipelined ledger.Demand

	// task identifies the pod. Its status may be out of date, because Volcano works on copies of tasks, too.
	task *api.TaskInfo
	pod  *demand.Pod

	// refused is why no node is suitable for this variant of the pod. It is nil if some may be.
	refused report.Refusal
	// begun says that the fields below are set, so that nodes are filtered.
	begun bool
	// held is the ledger, with what releasing pods still hold, when filtering began.
	held *ledger.Ledger
	// exceeded is why the quota allows no node until other pods have gone. It is nil if the quota allows some.
	exceeded report.Refusal
	// cards has why the quota refuses cards that the pod may get. It is nil if no queue limits these cards.
	cards cards.State
	// devices has the claims of the pod, and what was picked for them. It is nil for a pod without claims.
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

// stateIn returns the state of a pod that a CycleState has, nil if it has none.
func stateIn(cycle fwk.CycleState) *state {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil
	}
	known, _ := data.(*state)
	return known
}

// stateOf returns the state of a pod in this session, a new one if it has none.
func (s *Session) stateOf(task *api.TaskInfo) *state {
	cycle := s.Volcano.GetCycleState(task.UID)
	if known := stateIn(cycle); known != nil {
		return known
	}
	added := &state{}
	cycle.Write(stateKey, added)
	return added
}

// of returns the placement of a pod, or of a variant, that asks for devices or cards, a new one if it has none.
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

// Of returns the placement of the variant of a pod that counts, nil if it has none.
func (s *Session) Of(task *api.TaskInfo) *Placement {
	return placementFor(s.existing(task), s.Snapshot.Known(task.Pod))
}

// Promised returns what a pipelined pod is charged in place of its claims.
func (s *Session) Promised(task *api.TaskInfo) ledger.Demand {
	if placement := s.Of(task); placement != nil {
		return placement.Pipelined
	}
	return nil
}

// on returns the placement of a pod for a node, nil if it has none.
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

// SimulationWith returns the ledger of a simulation, and the demand of a pod that is to be added or removed there.
func (s *Session) SimulationWith(cycle fwk.CycleState, task *api.TaskInfo) (*ledger.Ledger, *demand.Pod, error) {
	books, err := s.Simulation(cycle)
	if err != nil {
		return nil, nil, err
	}
	pod, err := s.Snapshot.PodOf(task)
	return books, pod, err
}
