// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// What was freed for a pod by evictions is kept for it: the pod has a nominated node, which the API server keeps, so that this
// survives a restart. In each session, before others are placed, a pod with a nominated node starts if it can, and is pipelined
// to that node otherwise.

// keepFreed starts, or pipelines, the pods that others were evicted for. It does so once in a session.
func (p *plugin) keepFreed() {
	if p.kept != nil {
		return
	}
	p.kept = map[string]bool{}
	var waiting []*reservation
	for _, job := range p.reserved() {
		r := &reservation{plugin: p, job: job}
		if r.pipeline() {
			waiting = append(waiting, r)
		}
	}
	for len(waiting) > 0 {
		together := waiting[0].sharers(waiting)
		start(together)
		waiting = slices.DeleteFunc(waiting, func(r *reservation) bool { return slices.Contains(together, r) })
	}
}

// reserved returns the jobs with pods that others were evicted for, the oldest first. Jobs for which this process has evicted others come
// before jobs of which only the API server says so: somebody else may have written that.
func (p *plugin) reserved() []*api.JobInfo {
	known := &p.cache.reservations
	known.forget(p.session.Jobs, p.cache.clock.Now())
	var jobs []*api.JobInfo
	for _, job := range p.session.Jobs {
		if job.IsPending() || job.PodGroup == nil || len(p.nominated(job)) == 0 || !p.decides(job) {
			continue
		}
		for _, task := range p.nominated(job) {
			known.expire(job, task, known.nodeOf(task.Pod), p.cache.clock.Now(), p.arguments.ReservationTimeout)
		}
		jobs = append(jobs, job)
	}
	slices.SortFunc(jobs, func(a, b *api.JobInfo) int {
		return cmp.Or(-cmp.Compare(known.promised(a), known.promised(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	return jobs
}

// nominated returns the pods of a job that wait and have a nominated node, by name.
func (p *plugin) nominated(job *api.JobInfo) []*api.TaskInfo {
	var tasks []*api.TaskInfo
	for _, task := range job.TaskStatusIndex[api.Pending] {
		node := p.cache.reservations.nodeOf(task.Pod)
		if node != "" && !task.SchGated && !p.cache.reservations.hasFailed(job, node) {
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	return tasks
}

// keep keeps, in this session, what pods need that are pipelined to nodes.
func (p *plugin) keep(pods []*api.TaskInfo) {
	for _, task := range pods {
		p.kept[task.NodeName] = true
	}
}

// nominate notes that others were evicted for pods on the nodes that they are pipelined to.
func (p *plugin) nominate(pods []*api.TaskInfo) {
	for _, task := range pods {
		p.cache.reservations.nodes[task.Pod.UID] = task.NodeName
	}
}

// await notes that pods wait for what is leaving, although nobody was evicted for them. Nothing is kept for them in further sessions:
// who comes first then gets it.
func (p *plugin) await(job *api.JobInfo, pods []*api.TaskInfo) {
	for _, task := range pods {
		task.EvictionOccurred = false // Volcano writes the nominated node otherwise
		p.cache.reservations.expire(job, task, task.NodeName, p.cache.clock.Now(), p.arguments.ReservationTimeout)
	}
}

// refuseKept returns an error if a node would lack resources for the pods that others were evicted for.
func (p *plugin) refuseKept(task *api.TaskInfo, node *api.NodeInfo) error {
	if !p.kept[node.Name] || task.InitResreq.LessEqual(node.FutureIdle(), api.Zero) {
		return nil
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.Unschedulable, Reason: "what is free is kept for pods that others were evicted for", Plugin: Name})
}

// reservation is what is kept for one job.
type reservation struct {
	*plugin
	job   *api.JobInfo
	tasks []*api.TaskInfo
	// statement pipelines the tasks.
	statement *framework.Statement
}

// pipeline pipelines the pods to their nominated nodes. If that does not give the job its minimum, nothing is kept for it.
func (r *reservation) pipeline() bool {
	r.tasks, r.statement = nil, framework.NewStatement(r.session)
	for _, task := range r.nominated(r.job) {
		if err := r.pipelineTask(task); err != nil {
			klog.V(3).InfoS("Pod does not get what others were evicted for", "pod", klog.KObj(task.Pod), "node", r.cache.reservations.nodeOf(task.Pod), "reason", err.Error())
			continue
		}
		r.tasks = append(r.tasks, task)
	}
	if len(r.tasks) == 0 || !r.session.JobPipelined(r.job) {
		r.undo(r.statement)
		return false
	}
	r.keep(r.tasks)
	return true
}

func (r *reservation) pipelineTask(task *api.TaskInfo) error {
	name := r.cache.reservations.nodeOf(task.Pod)
	node := r.session.Nodes[name]
	if node == nil {
		return fmt.Errorf("node %s does not exist", name)
	}
	if err := r.session.PrePredicateFn(task); err != nil {
		return err
	}
	if err := r.session.PredicateForPreemptAction(task, node); err != nil {
		return err
	}
	if !task.InitResreq.LessEqual(node.FutureIdle(), api.Zero) || !r.session.Allocatable(r.session.Queues[r.job.Queue], task) {
		return fmt.Errorf("node %s, or the queue, will not have room", name)
	}
	return eviction.Pipeline(r.statement, task, name)
}

// sharers returns the reservation and those whose pods share a claim with it. They start together, because what is kept of the
// claim for one of them is not free for the others.
func (r *reservation) sharers(among []*reservation) []*reservation {
	claims := r.claims()
	return slices.DeleteFunc(slices.Clone(among), func(other *reservation) bool {
		if other == r {
			return false
		}
		for uid := range other.claims() {
			if claims[uid] {
				return false
			}
		}
		return true
	})
}

// claims returns the claims of the pods.
func (r *reservation) claims() map[types.UID]bool {
	claims := map[types.UID]bool{}
	for _, task := range r.tasks {
		if pod := r.snapshot.Known(task.Pod); pod != nil {
			for _, claim := range pod.Claims {
				claims[claim.Object.UID] = true
			}
		}
	}
	return claims
}

// start allocates the pods of reservations whose jobs can run, and leaves those pipelined that cannot start yet.
func start(together []*reservation) {
	for _, r := range slices.Backward(together) {
		r.undo(r.statement)
	}
	for _, r := range together {
		r.allocate()
	}
	for _, r := range together {
		if len(r.nominated(r.job)) > 0 && !r.pipeline() {
			klog.V(3).InfoS("Nothing is kept for a job any more", "job", klog.KRef(r.job.Namespace, r.job.Name))
		}
	}
}

// allocate allocates the pods that can start now, if their job can run then.
func (r *reservation) allocate() {
	starting := framework.NewStatement(r.session)
	for _, task := range r.tasks {
		node := r.freeNode(task)
		if node == nil {
			continue
		}
		if err := starting.Allocate(task, node); err != nil {
			klog.V(3).InfoS("Pod does not start yet", "pod", klog.KObj(task.Pod), "node", node.Name, "reason", err.Error())
			if undo := starting.UnAllocate(task); undo != nil {
				klog.ErrorS(undo, "Failed to undo that a pod is allocated", "pod", klog.KObj(task.Pod))
			}
		}
	}
	if r.session.JobReady(r.job) {
		starting.Commit()
	} else {
		r.undo(starting)
	}
}

// undo undoes a statement. Volcano tells of pods what was undone, unless that is forgotten.
func (r *reservation) undo(statement *framework.Statement) {
	statement.Discard()
	for _, task := range r.tasks {
		task.ClearLastTxContext()
	}
}

// maxSearched is how many pods of a job may look at other nodes than the nominated ones in a session.
const maxSearched = 4

// freeNode returns a node where a pod can start now: the nominated one or, for few pods, any where nothing is kept
// for others, such as further pods of the job. It is nil if there is none.
func (r *reservation) freeNode(task *api.TaskInfo) *api.NodeInfo {
	if err := r.session.PrePredicateFn(task); err != nil || !r.session.Allocatable(r.session.Queues[r.job.Queue], task) {
		return nil
	}
	startable := func(node *api.NodeInfo) bool {
		return eviction.InShard(r.session, node) && task.InitResreq.LessEqual(node.Idle, api.Zero) && r.session.PredicateForAllocateAction(task, node) == nil
	}
	if node := r.session.Nodes[r.cache.reservations.nodeOf(task.Pod)]; node != nil && startable(node) {
		return node
	}
	if len(r.tasks) > maxSearched {
		return nil
	}
	nodes := slices.DeleteFunc(slices.Clone(r.session.NodeList), func(node *api.NodeInfo) bool { return r.kept[node.Name] || !startable(node) })
	if len(nodes) == 0 {
		return nil
	}
	scores := util.PrioritizeNodes(task, nodes, r.session.BatchNodeOrderFn, r.session.NodeOrderMapFn, r.session.NodeOrderReduceFn)
	best, _ := util.SelectBestNodeAndScore(scores)
	return best
}
