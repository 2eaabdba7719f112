// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Answers of plugins about victims, see framework.Session.Preemptable.
const (
	permit  = 1
	abstain = 0
	reject  = -1
)

// preemption is an attempt to place one pod on one GPU node by evicting other pods.
//
// Without topology awareness, the preempt action evicts pods of a node until the node has the requested resources and Allocatable returns
// true. It does not call predicates again. A GPU node often has free resources while its quota is used up. On this node, the action would
// evict no pod, and pipeline a pod that never fits. Allocatable does not get the node, but Preemptable is called right before it, with the
// pods of the node.
type preemption struct {
	preemptor api.TaskID
	// account is nil if the quota does not apply.
	account  *account
	requests []amount
	// noVictims says that there is no pod to evict although the quota requires evictions.
	noVictims bool
}

// preemptable is Volcano's PreemptableFn. If the quota is exceeded, the victims are the pods that all other plugins permit and that help.
// There are none if these are not enough.
func (p *plugin) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.askedAbout(preemptees) {
		return nil, abstain
	}
	facts, a := p.overQuota(preemptor, preemptees)
	if a == nil {
		p.preemption.Store(&preemption{preemptor: preemptor.UID, noVictims: len(preemptees) == 0 && facts.counted && p.needsVictims()})
		return nil, abstain
	}
	p.preemption.Store(&preemption{preemptor: preemptor.UID, account: a, requests: facts.requests})
	allowed := p.ask(p.session.Preemptable, preemptor, preemptees)
	freed := make([]amount, len(facts.requests))
	resources := p.session.Nodes[preemptees[0].NodeName].FutureIdle()
	var helpful []*api.TaskInfo
	for _, victim := range allowed {
		h := a.charges[api.TaskID(victim.Pod.UID)]
		if h.requests != nil && a.helps(&h, facts.requests) {
			helpful = append(helpful, victim)
			add(freed, h.requests)
			resources.Add(victim.Resreq)
		}
	}
	switch {
	case !a.fitsAfter(freed, facts.requests):
		klog.V(4).InfoS("No victims make room in the quota", "plugin", Name, "node", a.facts.object.Name, "pod", klog.KObj(preemptor.Pod))
		return nil, reject
	case preemptor.InitResreq.LessEqual(resources, api.Zero):
		return helpful, permit
	default: // the node also lacks resources, which the other pods use
		return allowed, permit
	}
}

// reclaimable is Volcano's ReclaimableFn. The reclaim action may stop after any victim, so each victim
// alone must make room.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.askedAbout(reclaimees) {
		return nil, abstain
	}
	facts, a := p.overQuota(reclaimer, reclaimees)
	if a == nil {
		return nil, abstain
	}
	var enough []*api.TaskInfo
	for _, victim := range p.ask(p.session.Reclaimable, reclaimer, reclaimees) {
		h := a.charges[api.TaskID(victim.Pod.UID)]
		if h.requests != nil && !h.releasing && a.fitsAfter(h.requests, facts.requests) {
			enough = append(enough, victim)
		}
	}
	if len(enough) == 0 {
		klog.V(4).InfoS("No single victim makes room in the quota", "plugin", Name, "node", a.facts.object.Name, "pod", klog.KObj(reclaimer.Pod))
		return nil, reject
	}
	return enough, permit
}

// overQuota returns the account of the candidates' node if the pod does not fit its quota there; else
// nil.
func (p *plugin) overQuota(task *api.TaskInfo, candidates []*api.TaskInfo) (*podFacts, *account) {
	facts := p.cache.facts(task.Pod)
	if !facts.counted || len(candidates) == 0 {
		return facts, nil
	}
	a := p.accounts[candidates[0].NodeName]
	if a == nil || a.fitsAfter(nil, facts.requests) {
		return facts, nil
	}
	return facts, a
}

// ask returns the victims that all other plugins agree on. The plugin must not count on the eviction of
// a pod that another plugin protects.
func (p *plugin) ask(all func(*api.TaskInfo, []*api.TaskInfo) []*api.TaskInfo, task *api.TaskInfo, candidates []*api.TaskInfo) []*api.TaskInfo {
	// Topology-aware preemption calls from several goroutines, each with a slice of its own.
	question := &candidates[0]
	p.asked.Store(question, nil)
	defer p.asked.Delete(question)
	return all(task, candidates)
}

// askedAbout reports whether the plugin itself is asking about the candidates.
func (p *plugin) askedAbout(candidates []*api.TaskInfo) bool {
	if len(candidates) == 0 {
		return false
	}
	_, asked := p.asked.Load(&candidates[0])
	return asked
}

// allocatable is Volcano's AllocatableFn. It returns false only during a preemption, until enough pods
// are evicted.
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	c := p.preemption.Load()
	if c == nil || c.preemptor != task.UID {
		p.expect(allocating, task, func() bool { return p.session.Allocatable(queue, task) })
		return true
	}
	return !c.noVictims && (c.account == nil || c.account.fitsAfter(nil, c.requests))
}

// needsVictims reports whether a pod needs evictions on every GPU node. Without candidates, Volcano does
// not tell which node is meant. If the plugin accepted a node whose quota is full, the search would end
// there. So it accepts none, unless the node may be one where releasing pods make room.
func (p *plugin) needsVictims() bool { return p.full.Load() && !p.releasing.Load() }

// overused is Volcano's OverusedFn. The allocate action calls it for each queue, so the preempt action
// is over by then. To this plugin no queue is overused.
func (p *plugin) overused(any) bool {
	p.preemption.Store(nil)
	return false
}
