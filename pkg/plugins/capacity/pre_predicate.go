package capacity

import (
	"errors"
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// prePredicate is Volcano's PrePredicateFn. The backfill action, which places pods that
// request no ordinary resources, asks no AllocatableFn, so those pods are checked here.
// Simulations of the pod begin afresh.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	p.session.GetCycleState(task.UID).Write(simulationKey, &simulation{})
	if !task.BestEffort {
		return nil
	}
	job, found := p.session.Jobs[task.Job]
	if !found {
		return nil
	}
	queue, found := p.session.Queues[job.Queue]
	if !found {
		return fmt.Errorf("queue %s does not exist", job.Queue)
	}
	r, refused := p.check(p.ledger, queue, task)
	if !refused {
		return nil
	}
	p.refuse(task, r)
	return errors.New(r.message)
}
