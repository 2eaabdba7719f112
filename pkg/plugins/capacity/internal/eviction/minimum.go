// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxOrders is the maximum number of orders in which the pods of a job are placed.
const maxOrders = 4

// placeAll places as many pods as possible. It reports whether the job then has its minimum, within its rights. If not, pods
// may have taken the only places of other pods that need more: then those other pods go first.
func (p *planning) placeAll() bool {
	tasks := p.tasks
	if p.job.ContainsNetworkTopologyInSubJob() {
		return p.placeGroups(p.groupsOf(tasks))
	}
	for range maxOrders {
		reached, late := p.placeInOrder(tasks)
		if reached || late == nil || p.effort <= 0 {
			return reached
		}
		p.discard()
		p.forgetInadmissible()
		tasks = append([]*api.TaskInfo{late}, slices.DeleteFunc(slices.Clone(tasks), func(task *api.TaskInfo) bool { return task == late })...)
	}
	return false
}

// waiting returns the waiting pods that may have places, in the order of the session.
func (a *preemptor) waiting(may func(*api.TaskInfo) bool) []*api.TaskInfo {
	queue := util.NewPriorityQueue(a.Session.TaskOrderFn)
	for _, task := range a.job.TaskStatusIndex[api.Pending] {
		if may(task) {
			queue.Push(task)
		}
	}
	tasks := make([]*api.TaskInfo, 0, queue.Len())
	for !queue.Empty() {
		tasks = append(tasks, queue.Pop().(*api.TaskInfo))
	}
	return tasks
}

// placeInOrder places pods. It reports whether the job then has its minimum, within its rights. late is the first pod without
// a place although an earlier pod of another role has one. It is nil if there is none.
func (p *planning) placeInOrder(tasks []*api.TaskInfo) (reached bool, late *api.TaskInfo) {
	roles := map[string]bool{} // of the pods that have places
	for _, task := range tasks {
		pod, err := p.Snapshot.PodOf(task)
		if err != nil {
			continue
		}
		role := p.Solver.roles.of(task, pod)
		if !p.place(task, pod) {
			if late == nil && (len(roles) > 1 || len(roles) == 1 && !roles[role]) {
				late = task
			}
			continue
		}
		roles[role] = true
		if reached || len(p.steps) > 1 && p.lacksMinimum() || !IsPipelined(p.Session, p.job) {
			continue
		}
		if !p.isRight() {
			return false, nil
		}
		reached = true
	}
	return reached, late
}

// lacksMinimum reports whether too few pods have a place, whatever else a gang needs. To ask Volcano takes long for each pod of a large gang.
func (p *planning) lacksMinimum() bool {
	return p.job.WaitingTaskNum()+p.job.ReadyTaskNum()+p.job.PendingBestEffortTaskNum() < p.job.MinAvailable
}

// isRight reports whether the preemptor still has a right to each victim after all pods so far have their places. When a
// pod got its place, only the charges of earlier pods were known.
func (p *planning) isRight() bool {
	for _, step := range p.steps {
		taken := make(ledger.Amounts, len(step.short))
		for i, e := range step.short {
			taken[i] = ledger.Entry{Dimension: e.Dimension}
		}
		for _, i := range step.set {
			if !p.rule.justified(p.preemptor, p.Snapshot.Ledger, &p.all[i], taken) {
				return false
			}
		}
	}
	return true
}
