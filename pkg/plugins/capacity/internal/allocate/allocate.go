// SPDX-License-Identifier: Apache-2.0

// Package allocate is Volcano's action allocate, in which pods with the same signature share the answers of nodes: see package ranking. Queues, jobs, and pods
// come in the same order, and all other pods are placed in the same way as by upstream's action.
package allocate

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/nomination"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// Action is what is allocated in one session.
type Action struct {
	session     *framework.Session
	placements  *placement.Session
	nominations *nomination.Session
	// shares says that pods share answers, because all plugins ask one node at a time. Filters says so of filters only.
	shares, filters bool
	nodes           []*api.NodeInfo
	// places has the places of nodes in the list, by name.
	places map[string]int
	// changed has the places of the nodes that have changed, in order.
	changed  []int
	rankings rankings
	// remembersErrors says that a node is asked once for all pods of a job with the same role.
	remembersErrors bool

	queues *util.PriorityQueue
	jobs   map[api.QueueID]*util.PriorityQueue
	tasks  map[api.JobID]*util.PriorityQueue
	groups groups
	// failures has what is known about the jobs that have had a turn.
	failures map[api.JobID]*failures
}

// New returns the action for a session. It leaves jobs with groups of pods to upstream's action, in their turn. The plugin answers for the action which queues
// are overused. New returns nil if upstream's action must run alone, because the cluster has several shards.
func New(ssn *framework.Session, placements *placement.Session, nominations *nomination.Session, upstream framework.Action, plugin string) *Action {
	if mode := options.ServerOpts.ShardingMode; mode != "" && mode != volcanoutil.NoneShardingMode {
		return nil
	}
	a := &Action{
		session: ssn, placements: placements, nominations: nominations, shares: known(ssn.Tiers, local), filters: known(ssn.Tiers, slices.Concat(local, []string{"network-topology-aware"})), nodes: ssn.RealNodesList[framework.ClusterTopHyperNode], places: map[string]int{}, remembersErrors: true,
		queues: util.NewPriorityQueue(ssn.QueueOrderFn), jobs: map[api.QueueID]*util.PriorityQueue{}, tasks: map[api.JobID]*util.PriorityQueue{},
		groups: groups{upstream: upstream, jobs: map[api.JobID]*turns{}}, failures: map[api.JobID]*failures{},
	}
	ssn.AddOverusedFn(plugin, a.groups.overused)
	ssn.AddHyperNodeGradientForSubJobFn(plugin, func(group *api.SubJobInfo, within *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
		if current := a.groups.current; current != nil && current.inVain.skips(group, within.Name) {
			return nil
		}
		return nominations.Trial.Gradients(ssn, plugin, group, within)
	})
	framework.GetArgOfActionFromConf(ssn.Configurations, "allocate").GetBool(&a.remembersErrors, conf.EnablePredicateErrCacheKey)
	for _, job := range ssn.Jobs {
		a.add(job)
	}
	for place, node := range a.nodes {
		a.places[node.Name] = place
	}
	return a
}

// local are the plugins that are known to give answers about a node that depend on this node and the pod only, if OneNode of the plugins predicates and
// nodeorder says so.
var local = []string{"binpack", "capacity", "capacity-card", "conformance", "drf", "gang", "nodeorder", "overcommit", "pdb", "predicates", "priority", "proportion", "sla"}

// known reports whether a session has only some plugins.
func known(tiers []conf.Tier, some []string) bool {
	return !slices.ContainsFunc(tiers, func(tier conf.Tier) bool {
		return slices.ContainsFunc(tier.Plugins, func(plugin conf.PluginOption) bool { return !slices.Contains(some, plugin.Name) })
	})
}

// add adds the waiting pods of a job.
func (a *Action) add(job *api.JobInfo) {
	if job.IsPending() {
		if conf.EnabledActionMap["enqueue"] {
			return
		}
		job.PodGroup.Status.Phase = scheduling.PodGroupInqueue // nothing else lets it in
	}
	if len(job.TaskStatusIndex[api.Pending]) == 0 {
		return // most jobs, which need not be checked
	}
	queue, found := a.session.Queues[job.Queue]
	if answer := a.session.JobValid(job); answer != nil && !answer.Pass || !found {
		return
	}
	if ofGroups(job) {
		a.push(queue, job)
		return
	}
	subJob := job.SubJobs[job.DefaultSubJobID()]
	if subJob == nil {
		return
	}
	tasks := a.waiting(subJob)
	if tasks.Empty() {
		return
	}
	a.push(queue, job)
	a.tasks[job.UID] = tasks
}

// waiting returns the pods of a job that wait for nodes, in their order.
func (a *Action) waiting(subJob *api.SubJobInfo) *util.PriorityQueue {
	tasks := util.NewPriorityQueue(a.session.TaskOrderFn)
	for _, task := range subJob.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.Resreq.IsEmpty() { // pods without requests are for the action backfill
			tasks.Push(task)
		}
	}
	return tasks
}

func (a *Action) push(queue *api.QueueInfo, job *api.JobInfo) {
	if a.jobs[job.Queue] == nil {
		a.jobs[job.Queue] = util.NewPriorityQueue(a.session.JobOrderFn)
		a.queues.Push(queue)
	}
	a.jobs[job.Queue].Push(job)
}

// Run places the waiting pods.
func (a *Action) Run() {
	changed := func(event *framework.Event) {
		if place, found := a.places[event.Task.NodeName]; found {
			a.changed = append(a.changed, place)
		}
	}
	a.session.AddEventHandler(&framework.EventHandler{AllocateFunc: changed, DeallocateFunc: changed})
	defer a.groups.end()
	for len(a.nodes) > 0 && !a.queues.Empty() {
		queue := a.queues.Pop().(*api.QueueInfo)
		jobs := a.jobs[queue.UID]
		if a.session.Overused(queue) || jobs.Empty() {
			continue
		}
		job := jobs.Pop().(*api.JobInfo)
		klog.V(3).InfoS("Try to allocate resources", "queue", queue.Name, "job", job.UID)
		if a.runJob(queue, job) {
			jobs.Push(job) // it has more pods than its minimum
		}
		a.queues.Push(queue) // its order depends on what it has now
	}
}

// runJob places pods of a job until the job is ready. It reports whether these are being bound, and there are more.
func (a *Action) runJob(queue *api.QueueInfo, job *api.JobInfo) (more bool) {
	if ofGroups(job) {
		return a.runGroups(queue, job)
	}
	statement, subJob := framework.NewStatement(a.session), job.SubJobs[job.DefaultSubJobID()]
	a.placeAll(statement, queue, job, subJob)
	if !a.session.SubJobReady(job, subJob) && !a.session.SubJobPipelined(job, subJob) {
		statement.Discard()
		if statement = a.together(queue, job, subJob); statement == nil {
			return false
		}
	}
	if !a.session.JobReady(job) {
		return false // the pods keep their nodes in this session
	}
	statement.Commit()
	return !a.tasks[job.UID].Empty()
}
