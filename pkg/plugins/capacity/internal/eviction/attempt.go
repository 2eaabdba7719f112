// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/victims"
)

// attempt asks: which units must go to give the node to the pod?
type attempt struct {
	*preemptor
	task  *api.TaskInfo
	pod   *demand.Pod
	node  *api.NodeInfo
	asked ledger.Demand
	// wanted is the request of the pod. short is the part of it in the dimensions that are short while all units stay.
	wanted, short ledger.Amounts
	// lacksDevices says that the node has too few devices while all units stay. It is valid only if looked is set.
	looked, lacksDevices bool
	// quotaShort is the part of short that a quota refuses.
	quotaShort ledger.Amounts
}

// answer returns the cheapest right set of units as sorted indexes, and what the pod lacks while they are there. It
// returns false if there is no right set.
func (a *preemptor) answer(task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) ([]int, ledger.Amounts, bool) {
	q := a.ask(task, pod, node)
	if q.enough(nil) {
		return nil, nil, true
	}
	q.findShort()
	set, ok := q.search()
	return set, q.short, ok
}

func (a *preemptor) ask(task *api.TaskInfo, pod *demand.Pod, node *api.NodeInfo) *attempt {
	if variant := pod.On(dra.Served(node.Node)); variant != nil {
		pod = variant
	}
	return &attempt{preemptor: a, task: task, pod: pod, node: node, asked: a.asked(pod, node)}
}

// search returns the cheapest right set of units. findShort must have run.
func (a *attempt) search() ([]int, bool) {
	usable := a.justified(a.on[a.node.Name], a.short)
	lacks := len(a.short) > len(a.quotaShort) // units elsewhere do not help the node
	if set, ok := a.choose(usable); ok || len(a.quotaShort) == 0 || lacks && len(usable) == 0 {
		return set, ok
	}
	return a.choose(a.withRemote(usable))
}

// findShort finds the dimensions in which the node or a quota has too little.
func (a *attempt) findShort() {
	books := a.Snapshot.Ledger
	free := a.node.FutureIdle()
	if !a.looked {
		a.lacksDevices = a.pod.HasClaims && !a.hasDevices(nil)
	}
	a.wanted = unpaid(books, a.pod.Queue, a.asked)
	for _, e := range a.wanted {
		refusal, err := books.Fits(a.pod.Queue, ledger.Demand{ledger.NewPart(ledger.Amounts{e})})
		if err != nil || refusal != nil {
			a.quotaShort = append(a.quotaShort, e)
		}
		if err != nil || refusal != nil || a.lacks(e.Dimension, free) {
			a.short = append(a.short, e)
		}
	}
}

// lacks reports whether the node has too little of a dimension.
func (a *attempt) lacks(o ledger.Ordinal, free *api.Resource) bool {
	switch d := a.Snapshot.Dimensions.Dimension(o); d.Kind {
	case ledger.Resource:
		return a.lacksResource(d.Name, free)
	case ledger.Card:
		return a.lacksDevices || a.lacksCards(free) // devices may count as cards
	default:
		return d.Kind.OfClass() && a.lacksDevices
	}
}

func (a *attempt) lacksCards(free *api.Resource) bool {
	return a.pod.Cards != nil && slices.ContainsFunc(a.pod.Cards.Requests, func(request demand.CardRequest) bool {
		return a.lacksResource(string(request.Resource), free)
	})
}

func (a *attempt) lacksResource(name string, free *api.Resource) bool {
	return a.task.InitResreq.Get(corev1.ResourceName(name)) > free.Get(corev1.ResourceName(name))
}

// choose chooses among usable units.
func (a *attempt) choose(usable []int) ([]int, bool) {
	if len(usable) == 0 || a.effort <= 0 {
		return nil, false
	}
	costs := make([]victims.Unit, len(usable))
	for i, unit := range usable {
		costs[i] = a.costs[unit]
	}
	set := func(chosen []int) []int {
		units := make([]int, len(chosen))
		for i, c := range chosen {
			units[i] = usable[c]
		}
		return units
	}
	chosen, ok := victims.Choose(costs,
		func(chosen []int) bool { return a.allowed(set(chosen)) },
		func(chosen []int) bool { return a.enough(set(chosen)) }, min(maxTries, a.effort))
	return set(chosen), ok
}

// maxTries is the maximum number of sets that are tried for one pod on one node.
const maxTries = 64

// enough reports whether the pod can have the node after these units, and all leaving pods, are gone.
func (a *attempt) enough(set []int) bool {
	a.spend(1)
	if !a.hasResources(set) {
		return false
	}
	books := a.without(set)
	if refusal, err := books.Fits(a.pod.Queue, a.asked); refusal != nil || err != nil {
		return false
	}
	if !a.pod.HasClaims {
		return true
	}
	picked, err := a.Obtainable(a.task, a.node, a.podsOf(set))
	a.unfinished = a.unfinished || errors.As(err, new(*dra.UnfinishedError))
	if len(set) == 0 {
		a.looked, a.lacksDevices = true, err != nil
	}
	return err == nil && a.mayTake(books, set, picked)
}

// mayTake reports whether the preemptor has a right to everything that was picked, and leaves others what they deserve of it. The picked devices may
// exceed the known request of a claim, for example all devices of a node, and may be of further classes that the pod does not name.
func (a *attempt) mayTake(books *ledger.Ledger, set []int, picked ledger.Amounts) bool {
	for _, e := range picked {
		known := a.short.Of(e.Dimension)
		if a.rule == Preempt || e.Amount.Cmp(known) <= 0 {
			continue
		}
		// What is wanted and not short needs no victim, and a right to a device is one to its capacities, which nobody knows before it is picked.
		if known.Sign() == 0 && (a.wanted.Of(e.Dimension).Sign() > 0 || a.Snapshot.Dimensions.Dimension(e.Dimension).Kind == ledger.DeviceCapacity) {
			continue
		}
		if known.Sign() == 0 && a.namesLess(e.Dimension) {
			continue
		}
		for _, i := range set {
			u := &a.all[i]
			takes := u.freesSome(e) && books.IsDeserved(a.queue, e.Dimension, u.queues...)
			if takes && slices.ContainsFunc(u.queues, func(from ledger.QueueID) bool {
				return !books.MayTakeBack(a.queue, from, e.Dimension, e.Amount) || !books.KeepsTarget(from, a.queue, e.Dimension)
			}) {
				return false
			}
		}
	}
	return true
}

// namesLess reports whether each class that the pod names and lacks has fewer devices than a class. Then a right to it comes before a right to the other one,
// whose queue can use more devices. The other way round, no right comes first: two queues would evict each other's pods without end.
func (a *attempt) namesLess(than ledger.Ordinal) bool {
	general, names := a.Snapshot.Dimensions.Dimension(than), false
	for _, e := range a.short {
		if d := a.Snapshot.Dimensions.Dimension(e.Dimension); d.Kind.OfClass() {
			if names = a.Published(d.Name) < a.Published(general.Name); !names {
				return false
			}
		}
	}
	return names && general.Kind.OfClass()
}

// hasDevices reports whether the pod could have its devices without these units.
func (a *attempt) hasDevices(set []int) bool {
	_, err := a.Obtainable(a.task, a.node, a.podsOf(set))
	return err == nil
}

func (a *attempt) hasResources(set []int) bool {
	free := a.node.FutureIdle()
	for _, i := range set {
		for _, task := range a.all[i].tasks {
			if task.NodeName == a.node.Name {
				free.Add(task.Resreq)
			}
		}
	}
	return a.task.InitResreq.LessEqual(free, api.Zero)
}

func (a *attempt) podsOf(set []int) []*demand.Pod {
	var pods []*demand.Pod
	for _, i := range set {
		pods = append(pods, a.all[i].pods...)
	}
	return pods
}

// without returns the ledger as if the units were gone.
func (a *preemptor) without(set []int) *ledger.Ledger {
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
func (a *attempt) allowed(set []int) bool {
	if a.effort <= 0 || !a.spares(set) {
		return false
	}
	books := a.without(set)
	var tasks []*api.TaskInfo
	for _, i := range set {
		if !a.rule.justified(a.preemptor, books, &a.all[i], a.short) {
			return false
		}
		tasks = append(tasks, a.all[i].tasks...)
	}
	if !a.budgets.hold(tasks) {
		return false
	}
	return len(set) < 2 || a.agreement.agree(a.rule, a.task, tasks)
}

// vetoes reports whether a plugin vetoes the eviction of the unit.
func (u *unit) vetoes(q *attempt) bool {
	if u.vetoed == nil {
		vetoed := !q.agreement.agree(q.rule, q.task, u.tasks)
		u.vetoed = &vetoed
	}
	return *u.vetoed
}

// spares reports whether gangs keep their minimum, unless they go as a whole.
func (a *attempt) spares(set []int) bool {
	lost := map[api.JobID]*loss{}
	for _, i := range set {
		u := &a.all[i]
		if u.gang {
			continue
		}
		for _, task := range u.tasks {
			job := a.Session.Jobs[task.Job]
			if job == nil || !isGang(job) {
				continue
			}
			if lost[job.UID] == nil {
				lost[job.UID] = a.spareOf(job).loss()
			}
			if !lost[job.UID].allows(task) {
				return false
			}
			lost[job.UID].add(task)
		}
	}
	return true
}
