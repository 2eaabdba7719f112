package capacity

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
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
	task *api.TaskInfo
	pod  *demand.Pod

	// simulated is the ledger as a simulation has changed it. It is nil while the simulation has changed nothing.
	// Each clone has its own.
	simulated *ledger.Ledger

	// filtering says that the fields below are set, so that Predicate filters nodes.
	filtering bool
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

// Clone implements fwk.StateData. What was found out about cards and devices is shared, because simulations do not
// change it.
func (s *podState) Clone() fwk.StateData {
	clone := *s
	if s.simulated != nil {
		clone.simulated = s.simulated.View()
	}
	return &clone
}

// stateOf returns the state of a pod in this session, a new one if it has none.
func (p *plugin) stateOf(task *api.TaskInfo) *podState {
	if state := p.existingState(task); state != nil {
		return state
	}
	state := &podState{task: task}
	p.session.GetCycleState(task.UID).Write(stateKey, state)
	return state
}

// existingState returns the state of a pod in this session, nil if it has none.
func (p *plugin) existingState(task *api.TaskInfo) *podState {
	data, err := p.session.GetCycleState(task.UID).Read(stateKey)
	if err != nil {
		return nil
	}
	state, _ := data.(*podState)
	return state
}

// simulation returns the ledger of a simulation, to be changed.
func (p *plugin) simulation(cycle fwk.CycleState) (*ledger.Ledger, error) {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("PrePredicate of the pod has not run: %w", err)
	}
	state, ok := data.(*podState)
	if !ok {
		return nil, fmt.Errorf("the CycleState has a %T under %s", data, stateKey)
	}
	if state.simulated == nil {
		state.simulated = p.snapshot.Ledger.View()
	}
	return state.simulated, nil
}
