// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// stateKey is where the CycleState of a pod has its podState.
const stateKey fwk.StateKey = "devicequota/" + Name

// podState is all that a scheduling cycle knows of one pod. Volcano keeps it in the CycleState of the pod, and clones it
// for simulations of preemption, which run at the same time on several nodes.
type podState struct {
	// simulated is the ledger as a simulation has changed it. It is nil while the simulation has changed nothing.
	// Each clone has its own.
	simulated *ledger.Ledger
	// placements are shared by all clones, because simulations do not change them. There are none for a pod that asks for neither
	// devices nor cards, and several for a pod that may get its extended resources in different ways.
	placements []*placement
}

// placement is what a cycle knows of the devices and cards of one pod, or of one variant of it.
type placement struct {
	// task identifies the pod. Its status may be out of date, because Volcano works on copies of tasks, too.
	task *api.TaskInfo
	pod  *demand.Pod

	// refused is why no node is suitable for this variant of the pod. It is nil if some may be.
	refused report.Refusal
	// begun says that the fields below are set, so that Predicate filters nodes.
	begun bool
	// held is the ledger, with what releasing pods still hold, when filtering began.
	held *ledger.Ledger
	// exceeded is why the quota allows no node until other pods have gone. It is nil if the quota allows some.
	exceeded report.Refusal
	// cards has why the quota refuses cards that the pod may get. It is nil if no queue limits these cards.
	cards cards.State
	// devices has the claims of the pod, and what was picked for them. It is nil for a pod without claims.
	devices *devices.State

	// unbindable is why the pod must not be bound although it was given a node. The pod is charged nothing then.
	unbindable error
	// pipelined is what a pipelined pod is charged in place of its claims.
	pipelined ledger.Demand
}

// Clone implements fwk.StateData.
func (s *podState) Clone() fwk.StateData {
	clone := *s
	if s.simulated != nil {
		clone.simulated = s.simulated.View()
	}
	return &clone
}

// stateOf returns the state of a pod in this session, a new one if it has none.
func (p *plugin) stateOf(task *api.TaskInfo) *podState {
	cycle := p.session.GetCycleState(task.UID)
	if state := stateIn(cycle); state != nil {
		return state
	}
	state := &podState{}
	cycle.Write(stateKey, state)
	return state
}

// stateIn returns the state of a pod that a CycleState has, nil if it has none.
func stateIn(cycle fwk.CycleState) *podState {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil
	}
	state, _ := data.(*podState)
	return state
}

// placementOf returns the placement of a pod, or of a variant, that asks for devices or cards, a new one if it has none.
func (p *plugin) placementOf(task *api.TaskInfo, pod *demand.Pod) *placement {
	state := p.stateOf(task)
	if known := placementFor(state.placements, pod); known != nil {
		return known
	}
	added := &placement{task: task, pod: pod}
	state.placements = append(state.placements, added)
	return added
}

func placementFor(placements []*placement, pod *demand.Pod) *placement {
	for _, placement := range placements {
		if placement.pod == pod {
			return placement
		}
	}
	return nil
}

// currentPod is a pod and its placements, none if the pod asks for neither devices nor cards.
type currentPod struct {
	pod        *corev1.Pod
	placements []*placement
	// anywhere says that no node is wrong for the pod because of who serves extended resources there.
	anywhere bool
}

// existingPlacements returns the placements of a pod.
func (p *plugin) existingPlacements(task *api.TaskInfo) []*placement {
	if state := stateIn(p.session.GetCycleState(task.UID)); state != nil {
		return state.placements
	}
	return nil
}

// existingPlacement returns the placement of the variant of a pod that counts, nil if it has none.
func (p *plugin) existingPlacement(task *api.TaskInfo) *placement {
	return placementFor(p.existingPlacements(task), p.snapshot.Known(task.Pod))
}

// placementOn returns the placement of a pod for a node, nil if it has none.
func (p *plugin) placementOn(task *api.TaskInfo, node *api.NodeInfo) *placement {
	placements := p.current.placements
	if p.current.pod != task.Pod {
		placements = p.existingPlacements(task)
	}
	if len(placements) == 1 {
		return placements[0]
	}
	if len(placements) == 0 {
		return nil
	}
	pod := p.snapshot.Known(task.Pod)
	if pod == nil {
		return nil
	}
	return placementFor(placements, pod.On(dra.Served(node.Node)))
}

// simulation returns the ledger of a simulation, to be changed.
func (p *plugin) simulation(cycle fwk.CycleState) (*ledger.Ledger, error) {
	state := stateIn(cycle)
	if state == nil {
		return nil, errors.New("PrePredicate of the pod has not run")
	}
	if state.simulated == nil {
		state.simulated = p.snapshot.Ledger.View()
	}
	return state.simulated, nil
}

// simulationWith returns the ledger of a simulation, and the demand of a pod that is to be added or removed there.
func (p *plugin) simulationWith(cycle fwk.CycleState, task *api.TaskInfo) (*ledger.Ledger, *demand.Pod, error) {
	books, err := p.simulation(cycle)
	if err != nil {
		return nil, nil, err
	}
	pod, err := p.snapshot.PodOf(task)
	return books, pod, err
}
