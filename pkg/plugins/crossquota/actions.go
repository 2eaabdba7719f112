// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"sync/atomic"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// action is one of Volcano's scheduling actions.
type action int

const (
	// preempting stands for each action that the plugin cannot distinguish from preempt.
	preempting action = iota
	// allocating evicts no pods, but preempt and reclaim reuse the answers that it gets about nodes.
	allocating
	reclaiming
)

// actions finds out which action is running. Volcano does not tell plugins, but one action only calls
// Preemptive (reclaim) or Allocatable (allocate) right before PrePredicate. The preempt action also
// calls Allocatable, but only after it has asked for victims.
type actions struct {
	// current is the action that called PrePredicate last.
	current action
	// next is the action that is about to call PrePredicate for nextPod.
	next    action
	nextPod api.TaskID
	// full reports whether the quota of some GPU node refuses the pod until others are evicted. releasing reports whether the pod only waits
	// for releasing pods on some GPU node.
	full, releasing atomic.Bool
	// voting is set while the plugin asks all plugins, itself included.
	voting bool
}

// begin is called when an action starts to look for a node for a pod.
func (s *actions) begin(task *api.TaskInfo) {
	s.current = preempting
	if s.nextPod == task.UID {
		s.current = s.next
	}
	s.nextPod = ""
	s.full.Store(false)
	s.releasing.Store(false)
}

// expect records that an action is about to call PrePredicate for a pod, unless another plugin votes against it.
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

// preemptive is Volcano's PreemptiveFn, which the reclaim action calls. The plugin always agrees; it
// only learns from the call which action is running.
func (p *plugin) preemptive(queue, candidate any) bool {
	q, isQueue := queue.(*api.QueueInfo)
	task, isTask := candidate.(*api.TaskInfo)
	if isQueue && isTask {
		p.expect(reclaiming, task, func() bool { return p.session.Preemptive(q, task) })
	}
	return true
}

// evictionsHelp reports whether the current action can make room for a request by evictions. It looks
// at the pods that the action considers as candidates. Whether a candidate may be evicted is up to all
// plugins together.
//
// Nodes where eviction does not help must be kept from the actions: the actions take a node without
// candidates for one that needs no victims, and end their search there.
func (p *plugin) evictionsHelp(task *api.TaskInfo, a *account, requests []amount) bool {
	if a.fitsAfter(nil, requests) {
		return true
	}
	job := p.session.Jobs[task.Job]
	if job == nil || a.neverFits(requests) {
		return false
	}
	return p.current != reclaiming && preemptResolves(task, job, a, requests) ||
		p.current != preempting && p.reclaimResolves(job.Queue, a, requests)
}

// preemptResolves looks at the pods of the same queue. Pods of the same job are candidates only if
// their priority is lower; the priority plugin has the same rule.
func preemptResolves(task *api.TaskInfo, job *api.JobInfo, a *account, requests []amount) bool {
	freed := make([]amount, len(requests))
	for _, h := range a.charges {
		switch {
		case !h.bound, h.fixed, h.releasing, h.job.Queue != job.Queue:
		case task.BestEffort && !h.bestEffort:
		case h.job == job && h.priority >= task.Priority:
		default:
			add(freed, h.requests)
		}
	}
	return a.fitsAfter(freed, requests)
}

// reclaimResolves looks for a pod of another queue that alone makes room if it is evicted. The reclaim action evicts pods until the node has
// the requested resources, and does not ask plugins whether to go on. So it may not evict two pods for the quota.
func (p *plugin) reclaimResolves(queue api.QueueID, a *account, requests []amount) bool {
	for _, h := range a.charges {
		if !h.running || h.fixed || h.releasing || h.job.Queue == queue || !a.fitsAfter(h.requests, requests) {
			continue
		}
		if q := p.session.Queues[h.job.Queue]; q != nil && q.Reclaimable() {
			return true
		}
	}
	return false
}

func (p *plugin) holder(task *api.TaskInfo) holder {
	job := p.session.Jobs[task.Job]
	return holder{
		job: job, priority: task.Priority, bestEffort: task.BestEffort, fixed: !task.Preemptable || job == nil,
		bound: api.PreemptableStatus(task.Status), running: task.Status == api.Running,
	}
}
