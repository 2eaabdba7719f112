package crossquota

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// What plugins answer about victims, see framework.Session.Preemptable.
const (
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
	account   *account
	requests  []amount
}

// preemptable is Volcano's PreemptableFn. Which pods may be victims is for others to say; it
// objects where no victims help.
func (p *plugin) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	facts, a := p.contested(preemptor, preemptees)
	if a == nil {
		p.contest.Store(nil)
		return nil, abstain
	}
	p.contest.Store(&contest{preemptor: preemptor.UID, account: a, requests: facts.requests})
	return p.judge(facts, a, preemptees)
}

// reclaimable is Volcano's ReclaimableFn.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	facts, a := p.contested(reclaimer, reclaimees)
	if a == nil {
		return nil, abstain
	}
	return p.judge(facts, a, reclaimees)
}

// contested returns the account of the node that candidates are on; nil if the quota has nothing
// to say about the pod there.
func (p *plugin) contested(task *api.TaskInfo, candidates []*api.TaskInfo) (*podFacts, *account) {
	facts := p.process.facts(task.Pod)
	if !facts.counted || len(candidates) == 0 {
		return facts, nil
	}
	return facts, p.accounts[candidates[0].NodeName]
}

func (p *plugin) judge(facts *podFacts, a *account, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
	freed := make([]amount, len(facts.requests))
	for _, candidate := range candidates {
		if h, found := a.holders[api.TaskID(candidate.Pod.UID)]; found && !h.leaving {
			add(freed, h.requests)
		}
	}
	if a.fitsWithout(freed, facts.requests) {
		return nil, abstain
	}
	klog.V(4).InfoS("No victims make room in the quota", "plugin", Name, "node", a.facts.object.Name)
	return nil, reject
}

// allocatable is Volcano's AllocatableFn. It has an opinion during a contest only: then the
// preempt action goes on until enough victims leave.
func (p *plugin) allocatable(_ *api.QueueInfo, task *api.TaskInfo) bool {
	c := p.contest.Load()
	return c == nil || c.preemptor != task.UID || c.account.fitsWithout(nil, c.requests)
}
