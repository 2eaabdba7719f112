package capacity

import (
	"errors"
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// prePredicate is Volcano's PrePredicateFn. The backfill action, which places pods that
// request no ordinary resources, asks no AllocatableFn, so those pods are checked here.
// Simulations of the pod, and the search for its devices, begin afresh.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	p.session.GetCycleState(task.UID).Write(simulationKey, &simulation{})
	known := p.process.pods[task.Pod]
	searches := known != nil && (known.cards != nil || known.hasClaims && p.source.devices != nil)
	if !task.BestEffort && !searches {
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
	if task.BestEffort {
		if r, refused := p.check(p.ledger, queue, task); refused {
			p.refuse(task, r)
			return errors.New(r.message)
		}
	}
	if !searches {
		return nil
	}
	return p.begin(task, known)
}

// begin begins the search for a pod's devices and cards.
func (p *plugin) begin(task *api.TaskInfo, known *pod) error {
	delete(p.failed, known)
	r := refusal{}
	switch {
	case p.blocked != "" && known.hasClaims:
		return errors.New(p.blocked)
	case !known.inLedger:
		return errors.New("the pod's queue takes no pods")
	case known.err != nil:
		r = uncountable(known.err)
	default:
		a, err := p.newAttempt(known.queue, known)
		if err == nil {
			p.attempts[known] = a
			return nil
		}
		r = refusal{reason: taskRequestFailed, message: err.Error()}
		if errors.As(err, &passingError{}) {
			r.reason = ""
		}
	}
	p.refuse(task, r)
	return errors.New(r.message)
}
