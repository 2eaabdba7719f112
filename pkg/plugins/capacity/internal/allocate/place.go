// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// placeAll gives nodes to pods of a job, until the job is ready or cannot become ready.
func (a *Action) placeAll(statement *framework.Statement, queue *api.QueueInfo, job *api.JobInfo, subJob *api.SubJobInfo) {
	helper, failures := util.NewPredicateHelper(), a.failuresOf(job)
	fail := func(task *api.TaskInfo, why *api.FitErrors) {
		job.NodesFitErrors[task.UID] = why
		failures.fail(task.TaskRole)
	}
	for tasks := a.tasks[job.UID]; !tasks.Empty(); {
		task := tasks.Pop().(*api.TaskInfo)
		if !a.session.Allocatable(queue, task) {
			klog.V(3).InfoS("The queue has no room for a pod", "queue", queue.Name, "pod", klog.KObj(task.Pod))
			continue
		}
		if failures.has(task) {
			why := api.NewFitErrors()
			why.SetError(fmt.Sprintf("Task %s with role spec %s has already predicated failed, skip", task.Name, task.TaskRole))
			job.NodesFitErrors[task.UID] = why
			continue
		}
		if err := a.session.PrePredicateFn(task); err != nil {
			klog.V(3).InfoS("PrePredicate of a pod failed", "pod", klog.KObj(task.Pod), "err", err)
			fail(task, onEachOf(a.nodes, err))
			return
		}
		node, why := a.nodeFor(helper, task)
		switch {
		case node != nil:
			if a.place(statement, job, task, node) {
				failures.got(task)
			}
		case why != nil:
			if fail(task, why); !failures.goOn(subJob) {
				return
			}
			continue
		}
		if a.session.SubJobReady(job, subJob) {
			return
		}
	}
}

func onEachOf(nodes []*api.NodeInfo, err error) *api.FitErrors {
	why := api.NewFitErrors()
	for _, node := range nodes {
		why.SetNodeError(node.Name, err)
	}
	return why
}

// place allocates a pod on a node, or pipelines it if the node has not enough until other pods have left. It reports whether the pod has got the node.
func (a *Action) place(statement *framework.Statement, job *api.JobInfo, task *api.TaskInfo, node *api.NodeInfo) bool {
	var err error
	if task.InitResreq.LessEqual(node.Idle, api.Zero) {
		if err = statement.Allocate(task, node); err != nil {
			if undo := statement.UnAllocate(task); undo != nil {
				klog.ErrorS(undo, "Failed to undo that a pod is allocated", "pod", klog.KObj(task.Pod), "node", node.Name)
			}
		}
	} else {
		err = statement.Pipeline(task, node.Name, false)
	}
	if err != nil {
		klog.V(3).InfoS("Failed to place a pod", "pod", klog.KObj(task.Pod), "node", node.Name, "err", err) // the statement has logged why
		return false
	}
	metrics.UpdateE2eSchedulingDurationByJob(job.Name, string(job.Queue), job.Namespace, metrics.Duration(job.CreationTimestamp.Time))
	metrics.UpdateE2eSchedulingLastTimeByJob(job.Name, string(job.Queue), job.Namespace, time.Now())
	return true
}

// nodeFor returns the best node for a pod, or why there is none.
func (a *Action) nodeFor(helper util.PredicateHelper, task *api.TaskInfo) (*api.NodeInfo, *api.FitErrors) {
	// A node that was nominated for the pod is likely the only one that suits it.
	if nominated := a.session.Nodes[task.Pod.Status.NominatedNodeName]; nominated != nil && task.InitResreq.LessEqual(nominated.FutureIdle(), api.Zero) {
		if suitable, _ := helper.PredicateNodes(task, []*api.NodeInfo{nominated}, a.filter, a.remembersErrors, a.session.NodesInShard); len(suitable) > 0 {
			return nominated, nil
		}
	}
	if node, why, ranked := a.ranked(task); ranked {
		return node, why
	}
	suitable, why := helper.PredicateNodes(task, a.nodes, a.filter, a.remembersErrors, a.session.NodesInShard)
	if len(suitable) == 0 {
		return nil, why
	}
	return a.best(task, suitable), nil
}

// filter returns why a node does not suit a pod, now or after other pods have left.
func (a *Action) filter(task *api.TaskInfo, node *api.NodeInfo) error {
	if enough, resources := task.InitResreq.LessEqualWithResourcesName(futureIdle(node), api.Zero); !enough {
		return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.Unschedulable, Reason: api.WrapInsufficientResourceReason(resources)})
	}
	return a.session.PredicateForAllocateAction(task, node)
}

// futureIdle returns what pods may use of a node after others have left it. It must not be changed.
func futureIdle(node *api.NodeInfo) *api.Resource {
	if nothing(node.Releasing) && nothing(node.Pipelined) {
		return node.Idle // without a copy
	}
	return node.FutureIdle()
}

func nothing(r *api.Resource) bool {
	for _, amount := range r.ScalarResources {
		if amount != 0 {
			return false
		}
	}
	return r.MilliCPU == 0 && r.Memory == 0
}

// best returns the best of several suitable nodes. Those that suit the pod only after other pods have left come last.
func (a *Action) best(task *api.TaskInfo, suitable []*api.NodeInfo) *api.NodeInfo {
	var now, later []*api.NodeInfo
	for _, node := range suitable {
		if task.InitResreq.LessEqual(node.Idle, api.Zero) {
			now = append(now, node)
		} else {
			later = append(later, node)
		}
	}
	if len(now) == 0 {
		now = later
	}
	if len(now) == 1 {
		return now[0]
	}
	scores := util.PrioritizeNodes(task, now, a.session.BatchNodeOrderFn, a.session.NodeOrderMapFn, a.session.NodeOrderReduceFn)
	if node := a.session.BestNodeFn(task, scores); node != nil {
		return node
	}
	node, _ := util.SelectBestNodeAndScore(scores)
	return node
}
