// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"errors"
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// prePredicate is Volcano's PrePredicateFn. It prepares the state of the pod for filtering and for simulations. It also
// checks pods that request no resources: the backfill action places them without an AllocatableFn.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	if refusal := p.checks.BindingFailed(task); refusal != nil {
		return p.refuseNodes(task, refusal)
	}
	if p.placements.UndoIncomplete(p.jobOf(task)) {
		return p.session.PrePredicateFn(task) // other plugins have seen the pods that are undone
	}
	filters := p.placements.Begin(task)
	if !task.BestEffort && !filters && p.searches == nil {
		return p.refuseNodes(task, p.checks.AlsoReleasing(task))
	}
	job := p.jobOf(task)
	if job == nil {
		return nil
	}
	if p.searches != nil {
		switch {
		case p.placements.EvictsTogether(job):
			return elastic.ErrElsewhere
		case !p.searches.May(task):
			return elastic.ErrSearched
		}
	}
	if !task.BestEffort && !filters {
		return cmp.Or(p.refuseUncountable(task), p.refuseNodes(task, p.checks.OnlyReleasing(task))) // no pod is evicted for it
	}
	queue, found := p.session.Queues[job.Queue]
	if !found {
		return fmt.Errorf("queue %s does not exist", job.Queue)
	}
	if task.BestEffort {
		refusal := p.checks.Pod(p.snapshot.Ledger, queue, task)
		if refusal == nil && !filters {
			refusal = p.checks.Releasing(task) // the backfill action binds a pod that allocate refuses, see placement.Binding
		}
		if refusal != nil {
			return p.refuseNodes(task, refusal)
		}
	}
	if !filters {
		return nil
	}
	if !p.snapshot.Known(task.Pod).InLedger {
		return errors.New("the queue of the pod takes no pods")
	}
	if refusal := p.placements.PreFilter(task); refusal != nil {
		return p.refuseNodes(task, refusal)
	}
	return nil
}

// refuseUncountable returns an error if the demand of a pod cannot be counted. Then no queue accepts the pod.
func (p *plugin) refuseUncountable(task *api.TaskInfo) error {
	if pod := p.snapshot.Known(task.Pod); pod != nil && pod.Err != nil {
		return pod.Err
	}
	return nil
}

// refuseNodes reports why no node is suitable for a pod, and returns the reason as an error. It returns nil without a refusal.
func (p *plugin) refuseNodes(task *api.TaskInfo, refusal report.Refusal) error {
	if refusal == nil {
		return nil
	}
	p.cache.report.RefusePod(p.jobOf(task), task, refusal)
	return errors.New(refusal.Message())
}

// predicate is Volcano's PredicateFn. It returns an error if the node lacks the requested cards and devices, or the
// quota forbids these. Volcano calls it for several nodes in parallel.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	if err := p.nominations.Refuse(task, node); err != nil {
		return err
	}
	return p.placements.Filter(task, node, p.elastic.Scope())
}

// nodeOrder is Volcano's NodeOrderFn. Nodes with cards that a pod prefers score higher. Nodes with devices that recently failed
// to become ready score lower.
func (p *plugin) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	return p.placements.Score(task, node), nil
}
