// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Obstacle is the reason why a queue cannot take back what it deserves.
type Obstacle struct {
	// Dimension is requested by a pod of the queue, and deserved by the queue.
	Dimension ledger.Ordinal
	Asked     ledger.Amount
	// Above says that another queue has more than it deserves.
	Above bool
	// Candidates counts the pods of queues above their deserved that may be evicted. Gangs, Budgets, and Marked count the
	// protected pods: their jobs need them, a PodDisruptionBudget or plugin protects them, or they or their queues are marked.
	Candidates, Gangs, Budgets, Marked int
}

// Obstacle finds out why nothing could be taken back for a job without a plan. It returns false if the job's queue does
// not deserve what the job asks for.
func (s *Solver) Obstacle(job *api.JobInfo) (Obstacle, bool) {
	a := s.jobs[Reclaim][job.UID]
	if a == nil {
		return Obstacle{}, false
	}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		pod, err := s.Snapshot.PodOf(task)
		if err != nil {
			continue
		}
		if variants := pod.Alternatives(); variants != nil {
			pod = variants[0]
		}
		for _, e := range unpaid(s.Snapshot.Ledger, pod.Queue, pod.Checked) {
			if s.Snapshot.Ledger.Dimension(e.Dimension).Kind != ledger.Resource && s.deserves(a.queue, e) {
				return a.obstacle(task, e), true
			}
		}
		return Obstacle{}, false // the pods of a job are mostly alike
	}
	return Obstacle{}, false
}

// deserves reports whether a queue deserves an amount in addition to what it has.
func (s *Solver) deserves(queue ledger.QueueID, e ledger.Entry) bool {
	books := s.Snapshot.Ledger
	target := books.Target(queue, e.Dimension)
	total, err := books.Used(queue, e.Dimension).Add(e.Amount)
	return err == nil && target.Set && total.Cmp(target.Amount) <= 0
}

func (a *preemptor) obstacle(task *api.TaskInfo, e ledger.Entry) Obstacle {
	found := Obstacle{Dimension: e.Dimension, Asked: e.Amount}
	books := a.Snapshot.Ledger
	for _, job := range a.Session.Jobs {
		if job.UID == a.job.UID {
			continue
		}
		queue, known := books.Queue(string(job.Queue))
		found.Above = found.Above || known && a.holdsMore(queue, e.Dimension)
		a.protected(&found, task, job, e.Dimension)
	}
	return found
}

// holdsMore reports whether another queue holds more of a dimension than it deserves, as seen from the preemptor's queue.
func (a *preemptor) holdsMore(queue ledger.QueueID, o ledger.Ordinal) bool {
	books := a.Snapshot.Ledger
	if books.Within(queue, a.queue) || books.Within(a.queue, queue) {
		return false
	}
	_, top := books.Branches(a.queue, queue)
	return books.Excess(top, o) > 0
}

// protected counts the pods of a job that hold some of a dimension in queues above their deserved. It counts them by what protects them.
func (a *preemptor) protected(found *Obstacle, asking *api.TaskInfo, job *api.JobInfo, o ledger.Ordinal) {
	keeps, lost := isGang(job) && !a.WholeGangs, spareOf(job).loss()
	for status, tasks := range job.TaskStatusIndex {
		if !api.PreemptableStatus(status) {
			continue
		}
		for _, task := range tasks {
			pod := a.Snapshot.Known(task.Pod)
			if pod == nil || !pod.InLedger || !has(pod.Demand, o) || !a.holdsMore(pod.Queue, o) {
				continue
			}
			found.Above = true
			switch {
			case !a.rule.applies(a, job) || a.evictable(task) == nil:
				found.Marked++
			case keeps && !lost.allows(task):
				found.Gangs++
			case !a.budgets.hold([]*api.TaskInfo{task}) || !a.agreement.agree(a.rule, asking, []*api.TaskInfo{task}):
				found.Budgets++
			default:
				lost.add(task)
				found.Candidates++
			}
		}
	}
}

func has(d ledger.Demand, o ledger.Ordinal) bool {
	for _, part := range d {
		if part.Of(o).Sign() > 0 {
			return true
		}
	}
	return false
}
