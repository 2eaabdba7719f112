// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/victims"
)

// unit is a group of pods that are evicted together: a pod, pods that share a claim, or a whole gang.
type unit struct {
	tasks  []*api.TaskInfo
	pods   []*demand.Pod
	queues []ledger.QueueID
	// gang says that the unit is a whole gang.
	gang bool
	// frees is what the ledger gains without these pods.
	frees ledger.Amounts
	// evicted says that a statement has evicted the unit.
	evicted bool
	// vetoed says whether a plugin has vetoed the eviction of the unit. It is nil until the plugins are asked.
	vetoed *bool
}

// units are the candidates of a preemptor.
type units struct {
	all []unit
	// costs decide which units go first.
	costs []victims.Unit
	// elastic says that some gang can lose single pods.
	elastic bool
	// on has, for each node, the units with a pod there.
	on map[string][]int
	// order has all units, cheapest first. It is nil until needed.
	order []int
}

// findUnits finds the candidates among all pods.
func (a *preemptor) findUnits() {
	a.units, a.rights, a.spare = units{on: map[string][]int{}}, rights{}, nil
	shared := sharing{claims: map[types.UID]int{}}
	for _, job := range a.Session.Jobs {
		if !a.rule.applies(a, job) {
			continue
		}
		gang, losesPods := isGang(job), MayLose(job, false)
		a.elastic = a.elastic || gang && losesPods
		mayGo := gang && (a.whole == allGangs || a.whole == tightGangs && !losesPods)
		if mayGo && a.addGang(job) || !losesPods {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if !api.PreemptableStatus(status) {
				continue
			}
			for _, task := range tasks {
				a.addPod(job, task, &shared)
			}
		}
	}
	a.unite(&shared)
	a.finish()
}

// evictable returns the demand of a pod that may be evicted, nil if it may not.
func (a *preemptor) evictable(task *api.TaskInfo) *demand.Pod {
	if !task.Preemptable || task.Pod.DeletionTimestamp != nil || a.Session.Nodes[task.NodeName] == nil {
		return nil // from a node that is gone or not ready, nothing can be evicted
	}
	pod, err := a.Snapshot.PodOf(task)
	if err != nil {
		return nil
	}
	for _, queue := range a.chargedFor(pod) {
		if !a.rule.appliesTo(a, queue) {
			return nil
		}
	}
	return pod
}

// chargedFor returns the queues that pay less after a pod has gone: its own, and those that pay for claims that it shares.
func (a *preemptor) chargedFor(pod *demand.Pod) []ledger.QueueID {
	queues := []ledger.QueueID{pod.Queue}
	for _, claim := range pod.Claims {
		if queue, _, charged := a.Snapshot.Ledger.Payer(claim.Part); charged && !slices.Contains(queues, queue) {
			queues = append(queues, queue)
		}
	}
	return queues
}

// addPod adds a pod. unite later merges pods that share a claim, because the claim is free only when the last of them has gone.
func (a *preemptor) addPod(job *api.JobInfo, task *api.TaskInfo, shared *sharing) {
	pod := a.evictable(task)
	if pod == nil {
		return
	}
	i := len(a.all)
	a.all, a.costs = append(a.all, unit{}), append(a.costs, victims.Unit{})
	a.join(i, job, task, pod)
	for _, claim := range pod.Claims {
		if len(claim.Object.Status.ReservedFor) > 1 {
			shared.add(i, claim.Object.UID)
		}
	}
}

// unite merges the pods that share claims into one unit.
func (a *preemptor) unite(shared *sharing) {
	for i := range shared.with {
		if to := shared.first(i); to != i {
			task, pod := a.all[i].tasks[0], a.all[i].pods[0]
			a.all[i] = unit{}
			a.join(to, a.Session.Jobs[task.Job], task, pod)
		}
	}
}

// dropEmpty drops the units whose pods were moved to other units.
func (u *units) dropEmpty() {
	kept := 0
	for i := range u.all {
		if len(u.all[i].tasks) > 0 {
			u.all[kept], u.costs[kept] = u.all[i], u.costs[i]
			kept++
		}
	}
	u.all, u.costs = u.all[:kept], u.costs[:kept]
}

// addGang adds all pods of a gang as one unit. It returns false if it has none, or if one of them may not be evicted.
func (a *preemptor) addGang(job *api.JobInfo) bool {
	var tasks []*api.TaskInfo
	for _, task := range job.Tasks {
		if !api.AllocatedStatus(task.Status) {
			continue
		}
		if !api.PreemptableStatus(task.Status) || a.evictable(task) == nil {
			return false
		}
		tasks = append(tasks, task)
	}
	if len(tasks) == 0 {
		return false
	}
	i := len(a.all)
	a.all, a.costs = append(a.all, unit{gang: true}), append(a.costs, victims.Unit{})
	for _, task := range tasks {
		a.join(i, job, task, a.evictable(task))
	}
	return true
}

// join adds a pod to a unit.
func (a *preemptor) join(i int, job *api.JobInfo, task *api.TaskInfo, pod *demand.Pod) {
	u, cost := &a.all[i], &a.costs[i]
	u.tasks, u.pods = append(u.tasks, task), append(u.pods, pod)
	for _, queue := range a.chargedFor(pod) {
		if !slices.Contains(u.queues, queue) {
			u.queues = append(u.queues, queue)
		}
	}
	created := task.Pod.CreationTimestamp.UnixNano()
	if len(u.tasks) == 1 {
		*cost = victims.Unit{Priority: job.Priority, Created: created, Name: string(task.UID)}
	}
	cost.Pods, cost.Priority, cost.Created = len(u.tasks), max(cost.Priority, job.Priority), min(cost.Created, created)
	cost.Name = min(cost.Name, string(task.UID))
	if isGang(job) && (cost.Gang == "" || string(job.UID) < cost.Gang) {
		cost.Gang = string(job.UID)
	}
}

// finish determines what the units free, and where they are.
func (a *preemptor) finish() {
	books := a.Snapshot.Ledger
	a.dropEmpty()
	for i := range a.all {
		u := &a.all[i]
		slices.Sort(u.queues) // the order of jobs is not always the same
		view := books.View()
		for j, task := range u.tasks {
			freed := view.Frees(snapshot.HolderOf(task), u.pods[j].Demand)
			if sum, err := u.frees.PlusAll(freed); err == nil {
				u.frees = sum
			}
			if len(u.tasks) > 1 {
				_ = view.ReleaseHeld(snapshot.HolderOf(task), u.pods[j].Demand) // on error, it frees less
			}
			if nodes := a.on[task.NodeName]; len(nodes) == 0 || nodes[len(nodes)-1] != i {
				a.on[task.NodeName] = append(nodes, i)
			}
		}
		a.costs[i].Excess, a.costs[i].Closeness = a.excess(u), books.CommonDepth(u.queues[0], a.queue)
	}
}

// excess returns how far the queue of a unit is above its deserved, in the device or card dimension where this is most.
func (a *preemptor) excess(u *unit) float64 {
	most := 0.0
	for _, e := range u.frees {
		if a.Snapshot.Dimensions.Dimension(e.Dimension).Kind != ledger.Resource {
			most = max(most, a.Snapshot.Ledger.Excess(u.queues[0], e.Dimension))
		}
	}
	return most
}

// sorted returns all units, cheapest first.
func (u *units) sorted() []int {
	if u.order == nil {
		u.order = make([]int, len(u.all))
		for i := range u.order {
			u.order[i] = i
		}
		slices.SortFunc(u.order, func(a, b int) int { return victims.CompareUnits(&u.costs[a], &u.costs[b]) })
	}
	return u.order
}
