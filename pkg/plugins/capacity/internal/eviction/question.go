// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/victims"
)

// question asks: which units must go to give the node to the pod?
type question struct {
	*asker
	task  *api.TaskInfo
	pod   *demand.Pod
	node  *api.NodeInfo
	asked ledger.Demand
	// short is the request of the pod in the dimensions that are short while all units stay.
	short ledger.Amounts
	// lacksDevices says that the node has too few devices while all units stay. It is valid only if looked is set.
	looked, lacksDevices bool
	// quotaShort is the part of short that a quota refuses.
	quotaShort ledger.Amounts
}

// answer returns the cheapest right set of units as sorted indexes, and what the pod lacks while they are there. It
// returns false if there is no right set.
func (a *asker) answer(task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) ([]int, ledger.Amounts, bool) {
	q := a.ask(task, pod, node)
	if q.enough(nil) {
		return nil, nil, true
	}
	q.findShort()
	set, ok := q.search()
	return set, q.short, ok
}

func (a *asker) ask(task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) *question {
	if variant := pod.On(dra.Served(node.Node)); variant != nil {
		pod = variant
	}
	return &question{asker: a, task: task, pod: pod, node: node, asked: a.asked(pod, node)}
}

// search returns the cheapest right set of units. findShort must have run.
func (q *question) search() ([]int, bool) {
	candidates := q.justified(q.on[q.node.Name], q.short)
	if set, ok := q.choose(candidates); ok || len(q.quotaShort) == 0 {
		return set, ok
	}
	return q.choose(q.withRemote(candidates))
}

// findShort finds the dimensions in which the node or a quota has too little.
func (q *question) findShort() {
	books := q.Snapshot.Ledger
	free := q.node.FutureIdle()
	if !q.looked {
		q.lacksDevices = q.pod.HasClaims && !q.hasDevices(nil)
	}
	for _, e := range uncharged(books, q.asked) {
		refusal, err := books.Fits(q.pod.Queue, ledger.Demand{ledger.NewPart(ledger.Amounts{e})})
		if err != nil || refusal != nil {
			q.quotaShort = append(q.quotaShort, e)
		}
		if err != nil || refusal != nil || q.lacks(e.Dimension, free) {
			q.short = append(q.short, e)
		}
	}
}

// lacks reports whether the node has too little of a dimension.
func (q *question) lacks(o ledger.Ordinal, free *api.Resource) bool {
	switch d := q.Snapshot.Dimensions.Dimension(o); d.Kind {
	case ledger.Resource:
		return q.lacksResource(d.Name, free)
	case ledger.Card:
		return q.lacksDevices || q.lacksCards(free) // devices may count as cards
	default:
		return d.Kind.OfClass() && q.lacksDevices
	}
}

func (q *question) lacksCards(free *api.Resource) bool {
	return q.pod.Cards != nil && slices.ContainsFunc(q.pod.Cards.Requests, func(request demand.CardRequest) bool {
		return q.lacksResource(string(request.Resource), free)
	})
}

func (q *question) lacksResource(name string, free *api.Resource) bool {
	return q.task.InitResreq.Get(corev1.ResourceName(name)) > free.Get(corev1.ResourceName(name))
}

// choose chooses among candidates.
func (q *question) choose(candidates []int) ([]int, bool) {
	if len(candidates) == 0 || q.effort <= 0 {
		return nil, false
	}
	costs := make([]victims.Unit, len(candidates))
	for i, candidate := range candidates {
		costs[i] = q.costs[candidate]
	}
	set := func(chosen []int) []int {
		units := make([]int, len(chosen))
		for i, c := range chosen {
			units[i] = candidates[c]
		}
		return units
	}
	chosen, ok := victims.Choose(costs,
		func(chosen []int) bool { return q.allowed(set(chosen)) },
		func(chosen []int) bool { return q.enough(set(chosen)) }, min(maxTries, q.effort))
	return set(chosen), ok
}

// maxTries is the maximum number of sets that are tried for one pod on one node.
const maxTries = 64

// enough reports whether the pod can have the node after these units, and all leaving pods, are gone.
func (q *question) enough(set []int) bool {
	q.spend(1)
	if !q.hasResources(set) {
		return false
	}
	books := q.without(set)
	if refusal, err := books.Fits(q.pod.Queue, q.asked); refusal != nil || err != nil {
		return false
	}
	if !q.pod.HasClaims {
		return true
	}
	picked, err := q.Obtainable(q.task, q.node, q.podsOf(set))
	if len(set) == 0 {
		q.looked, q.lacksDevices = true, err != nil
	}
	return err == nil && q.mayTake(books, set, picked)
}

// mayTake reports whether the asker has a right to everything that was picked. The picked devices may exceed the known request of a
// claim, for example all devices of a node.
func (q *question) mayTake(books *ledger.Ledger, set []int, picked ledger.Amounts) bool {
	for _, e := range q.short {
		amount := picked.Of(e.Dimension)
		if q.rule == Preempt || amount.Cmp(e.Amount) <= 0 {
			continue
		}
		for _, i := range set {
			u := &q.all[i]
			takes := u.freesSome(e) && books.IsDeserved(q.queue, e.Dimension, u.queues...)
			if takes && slices.ContainsFunc(u.queues, func(from ledger.QueueID) bool { return !books.MayTakeBack(q.queue, from, e.Dimension, amount) }) {
				return false
			}
		}
	}
	return true
}

// hasDevices reports whether the pod could have its devices without these units.
func (q *question) hasDevices(set []int) bool {
	_, err := q.Obtainable(q.task, q.node, q.podsOf(set))
	return err == nil
}

func (q *question) hasResources(set []int) bool {
	free := q.node.FutureIdle()
	for _, i := range set {
		for _, task := range q.all[i].tasks {
			if task.NodeName == q.node.Name {
				free.Add(task.Resreq)
			}
		}
	}
	return q.task.InitResreq.LessEqual(free, api.Zero)
}

func (q *question) podsOf(set []int) []*demand.Pod {
	var pods []*demand.Pod
	for _, i := range set {
		pods = append(pods, q.all[i].pods...)
	}
	return pods
}

// without returns the ledger as if the units were gone.
func (a *asker) without(set []int) *ledger.Ledger {
	if len(set) == 0 {
		return a.Snapshot.Ledger
	}
	books := a.Snapshot.Ledger.View()
	for _, i := range set {
		u := &a.all[i]
		a.spend(len(u.tasks))
		for j, task := range u.tasks {
			if err := books.ReleaseHeld(snapshot.HolderOf(task), u.pods[j].Demand); err != nil {
				return a.Snapshot.Ledger // then nothing is free
			}
		}
	}
	return books
}

// allowed reports whether these units may go without breaking a right.
func (q *question) allowed(set []int) bool {
	if q.effort <= 0 || !q.spares(set) {
		return false
	}
	books := q.without(set)
	var tasks []*api.TaskInfo
	for _, i := range set {
		if !q.rule.justified(q.asker, books, &q.all[i], q.short) {
			return false
		}
		tasks = append(tasks, q.all[i].tasks...)
	}
	if !q.budgets.hold(tasks) {
		return false
	}
	return len(set) < 2 || q.agreement.agree(q.rule, q.task, tasks)
}

// vetoes reports whether a plugin vetoes the eviction of the unit.
func (u *unit) vetoes(q *question) bool {
	if u.vetoed == nil {
		vetoed := !q.agreement.agree(q.rule, q.task, u.tasks)
		u.vetoed = &vetoed
	}
	return *u.vetoed
}

// spares reports whether gangs keep their minimum, unless they go as a whole.
func (q *question) spares(set []int) bool {
	lost := map[api.JobID]int32{}
	for _, i := range set {
		u := &q.all[i]
		if u.gang {
			continue
		}
		for _, task := range u.tasks {
			job := q.Session.Jobs[task.Job]
			if job == nil || !isGang(job) {
				continue
			}
			if lost[job.UID]++; lost[job.UID] > spare(job) {
				return false
			}
		}
	}
	return true
}
