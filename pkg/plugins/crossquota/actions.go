package crossquota

import (
	"sync/atomic"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// action is what Volcano may do for a pod that a node has no room for.
type action int

const (
	// preempting is what an action does that the plugin has had no sign of.
	preempting action = iota
	// allocating evicts nobody. What it is told of nodes is what preempt and reclaim begin with.
	allocating
	reclaiming
)

// actions tells which action is at work. Volcano does not say, but some of its questions are asked
// by one action only, right before PrePredicate: Preemptive by reclaim, and Allocatable by allocate.
// The preempt action asks Allocatable, too, but not without having asked for victims.
type actions struct {
	// at is the action that tries the pod of the last PrePredicate.
	at action
	// next is the action that is about to try a pod.
	next    action
	nextPod api.TaskID
	// tight and easing say that there are GPU nodes whose quota refuses the pod until others are
	// evicted, or until those are gone that leave anyway.
	tight, easing atomic.Bool
	// voting is set while the plugin asks all plugins, and so itself.
	voting bool
}

// begin is called when an action begins to try a pod.
func (s *actions) begin(task *api.TaskInfo) {
	s.at = preempting
	if s.nextPod == task.UID {
		s.at = s.next
	}
	s.nextPod = ""
	s.tight.Store(false)
	s.easing.Store(false)
}

// expect notes that an action is about to try a pod, unless another plugin votes against it.
func (s *actions) expect(next action, task *api.TaskInfo, vote func() bool) {
	if s.voting {
		return
	}
	s.voting = true
	agreed := vote()
	s.voting = false
	if agreed {
		s.next, s.nextPod = next, task.UID
	}
}

// preemptive is Volcano's PreemptiveFn, asked by the reclaim action. All plugins must agree, so
// the plugin, which does not care, does.
func (p *plugin) preemptive(queue, candidate any) bool {
	q, isQueue := queue.(*api.QueueInfo)
	task, isTask := candidate.(*api.TaskInfo)
	if isQueue && isTask {
		p.expect(reclaiming, task, func() bool { return p.session.Preemptive(q, task) })
	}
	return true
}

// resolvable reports whether evictions that the action can do make room for a request. Candidates
// are those that the action takes for such; whether they may be evicted is only known when all
// plugins are asked.
//
// It keeps the actions from nodes where the quota is held by what they cannot evict. They try nodes
// in an order of their own, and some ways to fail on one end the search: a node that offers no
// candidates is taken for one that needs no victims.
func (p *plugin) resolvable(task *api.TaskInfo, a *account, requests []amount) bool {
	if a.fitsWithout(nil, requests) {
		return true
	}
	job := p.session.Jobs[task.Job]
	if job == nil || a.beyond(requests) {
		return false
	}
	return p.at != reclaiming && preemptResolves(task, job, a, requests) ||
		p.at != preempting && p.reclaimResolves(job.Queue, a, requests)
}

// preemptResolves looks at what pods of the same queue hold. Siblings that are not less important
// are no candidates: evicting them for their like makes no sense, and where the priority plugin is
// there it sees to that.
func preemptResolves(task *api.TaskInfo, job *api.JobInfo, a *account, requests []amount) bool {
	freed := make([]amount, len(requests))
	for _, h := range a.holders {
		switch {
		case !h.bound, h.fixed, h.leaving, h.job.Queue != job.Queue:
		case task.BestEffort && !h.bestEffort:
		case h.job == job && h.priority >= task.Priority:
		default:
			add(freed, h.requests)
		}
	}
	return a.fitsWithout(freed, requests)
}

// reclaimResolves looks for one pod of another queue that is enough. The reclaim action evicts one
// after the other until the node has the resources that are needed, and asks nobody whether these
// are enough; so it cannot be made to evict two for the quota.
func (p *plugin) reclaimResolves(queue api.QueueID, a *account, requests []amount) bool {
	for _, h := range a.holders {
		if !h.running || h.fixed || h.leaving || h.job.Queue == queue || !a.fitsWithout(h.requests, requests) {
			continue
		}
		if q := p.session.Queues[h.job.Queue]; q != nil && q.Reclaimable() {
			return true
		}
	}
	return false
}

// holder says who may evict a pod.
func (p *plugin) holder(task *api.TaskInfo) holder {
	job := p.session.Jobs[task.Job]
	return holder{
		job: job, priority: task.Priority, bestEffort: task.BestEffort, fixed: !task.Preemptable || job == nil,
		bound: api.PreemptableStatus(task.Status), running: task.Status == api.Running,
	}
}
