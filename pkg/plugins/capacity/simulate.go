package capacity

import (
	"context"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// simulationKey is where the cycle state of a pod that may preempt others has its simulation.
const simulationKey = "devicequota/" + Name

// simulation is what would be if some pods were gone or came back. Simulations of one pod on
// several nodes run at the same time, each on a clone.
type simulation struct {
	// view is nil while nothing has changed.
	view *ledger.Ledger
}

// Clone implements fwk.StateData.
func (s *simulation) Clone() fwk.StateData {
	if s.view == nil {
		return &simulation{}
	}
	return &simulation{view: s.view.View()}
}

// simulationOf returns the view of a simulation, to be written to.
func (p *plugin) simulationOf(state fwk.CycleState) (*ledger.Ledger, error) {
	data, err := state.Read(simulationKey)
	if err != nil {
		return nil, fmt.Errorf("the pod's PrePredicate has not run: %w", err)
	}
	s, ok := data.(*simulation)
	if !ok {
		return nil, fmt.Errorf("the cycle state has a %T under %s", data, simulationKey)
	}
	if s.view == nil {
		s.view = p.ledger.View()
	}
	return s.view, nil
}

// simulateAddTask is Volcano's SimulateAddTaskFn.
func (p *plugin) simulateAddTask(_ context.Context, state fwk.CycleState, _, added *api.TaskInfo, _ *api.NodeInfo) error {
	view, err := p.simulationOf(state)
	if err != nil {
		return err
	}
	queue, known, err := p.heldBy(added)
	if err != nil {
		return err
	}
	return view.Charge(queue, holderOf(added), known.demand)
}

// simulateRemoveTask is Volcano's SimulateRemoveTaskFn.
func (p *plugin) simulateRemoveTask(_ context.Context, state fwk.CycleState, _, removed *api.TaskInfo, _ *api.NodeInfo) error {
	view, err := p.simulationOf(state)
	if err != nil {
		return err
	}
	_, known, err := p.heldBy(removed)
	if err != nil {
		return err
	}
	return releaseAll(view, holderOf(removed), known.demand)
}

// simulateAllocatable is Volcano's SimulateAllocatableFn.
func (p *plugin) simulateAllocatable(_ context.Context, state fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo) bool {
	view, err := p.simulationOf(state)
	if err != nil {
		return false
	}
	_, refused := p.check(view, queue, task)
	return !refused
}

// releaseAll releases those parts of a demand that the holder holds.
func releaseAll(books *ledger.Ledger, holder ledger.Holder, d ledger.Demand) error {
	for _, part := range d {
		if !books.Holds(part, holder) {
			continue
		}
		if err := books.Release(part, holder); err != nil {
			return err
		}
	}
	return nil
}

// heldBy returns the queue that answers for a pod, and what is known of the pod.
func (p *plugin) heldBy(task *api.TaskInfo) (ledger.QueueID, *pod, error) {
	known := p.process.pods[task.Pod]
	if known == nil {
		return 0, nil, fmt.Errorf("pod %s/%s is not in this session", task.Namespace, task.Name)
	}
	if !known.inLedger {
		return 0, nil, fmt.Errorf("the queue of pod %s/%s cannot be used", task.Namespace, task.Name)
	}
	return known.queue, known, nil
}
