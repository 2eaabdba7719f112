package crossquota

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// What plugins answer about victims, see framework.Session.Preemptable.
const (
	permit  = 1
	abstain = 0
	reject  = -1
)

// contest is one pod that may preempt others on one GPU node.
//
// Without topology awareness, the preempt action takes victims on a node until the node has the
// resources and Allocatable agrees; it does not ask predicates again. On a node whose quota is used
// up while it has resources to spare, as GPU nodes do, it would take none, and promise the pod a
// place that it will never get. Allocatable does not say which node is meant, but Preemptable is
// called right before, with the pods of that node.
type contest struct {
	preemptor api.TaskID
	// account is nil where the quota has nothing to say.
	account  *account
	requests []amount
	// lost contests are those where there is nobody to evict.
	lost bool
}

// preemptable is Volcano's PreemptableFn. Where the quota is what lacks, just those of the pods
// that all plugins would give are victims that hold some of it, and none if these are not enough.
func (p *plugin) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.askedAbout(preemptees) {
		return nil, abstain
	}
	facts, a := p.contested(preemptor, preemptees)
	if a == nil {
		p.contest.Store(&contest{preemptor: preemptor.UID, lost: len(preemptees) == 0 && facts.counted && p.needsVictims()})
		return nil, abstain
	}
	p.contest.Store(&contest{preemptor: preemptor.UID, account: a, requests: facts.requests})
	allowed := p.ask(p.session.Preemptable, preemptor, preemptees)
	freed := make([]amount, len(facts.requests))
	resources := p.session.Nodes[preemptees[0].NodeName].FutureIdle()
	var helpful []*api.TaskInfo
	for _, victim := range allowed {
		h := a.holders[api.TaskID(victim.Pod.UID)]
		if h.requests != nil && a.helps(&h, facts.requests) {
			helpful = append(helpful, victim)
			add(freed, h.requests)
			resources.Add(victim.Resreq)
		}
	}
	switch {
	case !a.fitsWithout(freed, facts.requests):
		klog.V(4).InfoS("No victims make room in the quota", "plugin", Name, "node", a.facts.object.Name, "pod", klog.KObj(preemptor.Pod))
		return nil, reject
	case preemptor.InitResreq.LessEqual(resources, api.Zero):
		return helpful, permit
	default: // the node lacks resources, too, which others hold
		return allowed, permit
	}
}

// reclaimable is Volcano's ReclaimableFn. The reclaim action may stop after any victim, so each of
// them must be enough.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.askedAbout(reclaimees) {
		return nil, abstain
	}
	facts, a := p.contested(reclaimer, reclaimees)
	if a == nil {
		return nil, abstain
	}
	var enough []*api.TaskInfo
	for _, victim := range p.ask(p.session.Reclaimable, reclaimer, reclaimees) {
		h := a.holders[api.TaskID(victim.Pod.UID)]
		if h.requests != nil && !h.leaving && a.fitsWithout(h.requests, facts.requests) {
			enough = append(enough, victim)
		}
	}
	if len(enough) == 0 {
		klog.V(4).InfoS("No victim alone makes room in the quota", "plugin", Name, "node", a.facts.object.Name, "pod", klog.KObj(reclaimer.Pod))
		return nil, reject
	}
	return enough, permit
}

// contested returns the account of the node that candidates are on; nil if the quota has nothing
// to say about the pod there.
func (p *plugin) contested(task *api.TaskInfo, candidates []*api.TaskInfo) (*podFacts, *account) {
	facts := p.process.facts(task.Pod)
	if !facts.counted || len(candidates) == 0 {
		return facts, nil
	}
	a := p.accounts[candidates[0].NodeName]
	if a == nil || a.fitsWithout(nil, facts.requests) {
		return facts, nil
	}
	return facts, a
}

// ask returns what all plugins agree on, this one aside. What this one answers depends on it: to
// name a pod that others protect would do no harm, but to count on it would.
func (p *plugin) ask(all func(*api.TaskInfo, []*api.TaskInfo) []*api.TaskInfo, task *api.TaskInfo, candidates []*api.TaskInfo) []*api.TaskInfo {
	// Topology-aware preemption asks from several goroutines, about a slice of its own each.
	question := &candidates[0]
	p.asked.Store(question, nil)
	defer p.asked.Delete(question)
	return all(task, candidates)
}

// askedAbout reports whether it is the plugin itself that asks.
func (p *plugin) askedAbout(candidates []*api.TaskInfo) bool {
	if len(candidates) == 0 {
		return false
	}
	_, asked := p.asked.Load(&candidates[0])
	return asked
}

// allocatable is Volcano's AllocatableFn. It has an opinion during a contest only: then the
// preempt action goes on until enough victims leave.
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	c := p.contest.Load()
	if c == nil || c.preemptor != task.UID {
		p.expect(allocating, task, func() bool { return p.session.Allocatable(queue, task) })
		return true
	}
	return !c.lost && (c.account == nil || c.account.fitsWithout(nil, c.requests))
}

// needsVictims reports that a pod gets no node without victims. Where there are no candidates
// Volcano does not say which node is meant. To take one for good whose quota has no room would end
// the search for a node, so none is, unless the place of a pod that leaves may be meant.
func (p *plugin) needsVictims() bool { return p.tight.Load() && !p.easing.Load() }

// overused is Volcano's OverusedFn, asked when the allocate action turns to a queue: preemption is
// over then. One plugin that says so makes a queue overused; this one never does.
func (p *plugin) overused(any) bool {
	p.contest.Store(nil)
	return false
}
