// SPDX-License-Identifier: Apache-2.0

package nomination

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// gang is a job that room is kept for.
type gang struct {
	*Session
	job   *api.JobInfo
	tasks []*api.TaskInfo
	// statement pipelines the tasks.
	statement *framework.Statement
	// decided says that searches is set: whether its pods may try all nodes.
	decided, searches bool
}

// pipeline pipelines the pods to their nominated nodes. If the job does not get its minimum, nothing is kept for it.
func (g *gang) pipeline() bool {
	g.tasks, g.statement = nil, framework.NewStatement(g.Volcano)
	inRounds(g.nominated(g.job), func(task *api.TaskInfo) bool {
		if err := g.pipelineTask(task); err != nil {
			klog.V(3).InfoS("Pod does not get what others were evicted for", "pod", klog.KObj(task.Pod), "node", g.Cache.nodeOf(task.Pod), "reason", err.Error())
			return false
		}
		g.tasks = append(g.tasks, task)
		return true
	})
	if len(g.tasks) == 0 || !eviction.IsPipelined(g.Volcano, g.job) || !g.keep(g.job, g.tasks) {
		g.undo(g.statement)
		return false
	}
	return true
}

// inRounds tries something for each pod or job, and again for those for which it failed, as long as it succeeds for others: a node may suit a pod only
// when another one is there, for example by affinity or by topology spread constraints.
func inRounds[T any](all []T, try func(T) bool) {
	for left := slices.Clone(all); len(left) > 0; {
		before := len(left)
		if left = slices.DeleteFunc(left, try); len(left) == before {
			return
		}
	}
}

func (g *gang) pipelineTask(task *api.TaskInfo) error {
	name := g.Cache.nodeOf(task.Pod)
	node := g.Volcano.Nodes[name]
	if node == nil {
		return fmt.Errorf("node %s does not exist", name)
	}
	if err := g.Volcano.PrePredicateFn(task); err != nil {
		return err
	}
	if err := g.Volcano.PredicateForPreemptAction(task, node); err != nil {
		return err
	}
	if !task.InitResreq.LessEqual(node.FutureIdle(), api.Zero) || !g.Volcano.Allocatable(g.Volcano.Queues[g.job.Queue], task) {
		return fmt.Errorf("node %s, or the queue, will not have room", name)
	}
	return eviction.Pipeline(g.statement, task, name)
}

// sharers returns the job and the jobs whose pods share a claim with it. These jobs start together: a claim kept for
// one of them is not free for the others.
func (g *gang) sharers(among []*gang) []*gang {
	claims := g.claims()
	return slices.DeleteFunc(slices.Clone(among), func(other *gang) bool {
		if other == g {
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

func (g *gang) claims() map[types.UID]bool {
	claims := map[types.UID]bool{}
	for _, task := range g.tasks {
		if pod := g.Snapshot.Known(task.Pod); pod != nil {
			for _, claim := range pod.Claims {
				claims[claim.Object.UID] = true
			}
		}
	}
	return claims
}

// start allocates the pods of jobs that can run. Pods that cannot start yet stay pipelined.
func start(together []*gang) {
	for _, g := range slices.Backward(together) {
		g.undo(g.statement)
	}
	for _, g := range together {
		g.allocate()
	}
	for _, g := range together {
		if len(g.nominated(g.job)) > 0 && !g.pipeline() {
			klog.V(3).InfoS("Nothing is kept for a job any more", "job", klog.KRef(g.job.Namespace, g.job.Name))
		}
	}
}

// allocate allocates the pods that can start now, if their job can then run.
func (g *gang) allocate() {
	starting := framework.NewStatement(g.Volcano)
	inRounds(g.tasks, func(task *api.TaskInfo) bool {
		node := g.freeNode(task)
		if node == nil {
			return false
		}
		err := starting.Allocate(task, node)
		if err == nil {
			return true
		}
		klog.V(3).InfoS("Pod does not start yet", "pod", klog.KObj(task.Pod), "node", node.Name, "reason", err.Error())
		if undo := starting.UnAllocate(task); undo != nil {
			klog.ErrorS(undo, "Failed to undo that a pod is allocated", "pod", klog.KObj(task.Pod))
		}
		return false
	})
	if eviction.IsReady(g.Volcano, g.job) {
		starting.Commit()
	} else {
		g.undo(starting)
	}
}

// undo undoes a statement. It also clears the reports of the undone steps, which Volcano would publish.
func (g *gang) undo(statement *framework.Statement) {
	statement.Discard()
	for _, task := range g.tasks {
		task.ClearLastTxContext()
	}
}

// maxSearched is the maximum number of a job's pods that may search other nodes than the nominated ones in a session.
const maxSearched = 4

// maxSearchedNodes is how many times a node is tried in a session, at most, for pods whose nominated nodes are not free.
const maxSearchedNodes = 50_000

// maxSearching returns the maximum number of such pods in a session. Half of them are for jobs whose turn it is.
func (s *Session) maxSearching() int {
	return max(4*maxSearched, maxSearchedNodes/max(1, len(s.Volcano.NodeList)))
}

// maySearch reports whether the pods of a job may try all nodes in this session. Jobs that may not get their turn in later sessions.
func (g *gang) maySearch() bool {
	if g.decided {
		return g.searches
	}
	g.decided = true
	name := string(g.job.UID)
	switch {
	case g.turn[name]:
		g.searches = true
	case g.searching+len(g.tasks) <= g.maxSearching()/2:
		g.searching += len(g.tasks)
		g.searches = true
	default:
		g.passed[name] = true
		g.Cache.waiting.Join(string(g.job.Queue), name)
	}
	return g.searches
}

// freeNode returns a node where a pod can start now, nil if there is none. It prefers the nominated node. If the job
// has few pods, and no network topology, it then tries nodes where nothing is kept, not even for other pods of the job.
func (g *gang) freeNode(task *api.TaskInfo) *api.NodeInfo {
	if err := g.Volcano.PrePredicateFn(task); err != nil || !g.Volcano.Allocatable(g.Volcano.Queues[g.job.Queue], task) {
		return nil
	}
	startable := func(node *api.NodeInfo) bool {
		return eviction.InShard(g.Volcano, node) && task.InitResreq.LessEqual(node.Idle, api.Zero) && g.Volcano.PredicateForAllocateAction(task, node) == nil
	}
	if node := g.Volcano.Nodes[g.Cache.nodeOf(task.Pod)]; node != nil && startable(node) {
		return node
	}
	if len(g.tasks) > maxSearched || g.job.ContainsNetworkTopology() || !g.maySearch() {
		return nil
	}
	nodes := slices.DeleteFunc(slices.Clone(g.Volcano.NodeList), func(node *api.NodeInfo) bool { return g.kept[node.Name] || !startable(node) })
	if len(nodes) == 0 {
		return nil
	}
	scores := util.PrioritizeNodes(task, nodes, g.Volcano.BatchNodeOrderFn, g.Volcano.NodeOrderMapFn, g.Volcano.NodeOrderReduceFn)
	best, _ := util.SelectBestNodeAndScore(scores)
	return best
}
