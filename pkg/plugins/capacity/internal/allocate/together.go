// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"errors"
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
)

var (
	// errNoRoom says that the queue has no room for a pod beside those that are placed with it.
	errNoRoom = errors.New("the queue has no room for the pod")
	// errNotPlaced says that Volcano has not given a pod a node. Volcano logs why.
	errNotPlaced = errors.New("the node has not got the pod")
)

// together gives nodes to the pods that a job needs to start, after they did not get any one after another: a pod may have taken a node, or devices, that
// another one needed, although there were others for it. It returns a statement, or nil if the job cannot start.
func (a *Action) together(queue *api.QueueInfo, job *api.JobInfo, subJob *api.SubJobInfo) *framework.Statement {
	g, everywhere := a.gangOf(queue, job), hypernodes.Domain{}
	if g == nil || !g.begin([]hypernodes.Domain{everywhere}) || !g.search(everywhere) {
		return nil
	}
	return g.place(subJob)
}

// runGroups gives a job a turn of upstream's action. If its pods get no nodes one after another, the action is told which ones they can have together.
func (a *Action) runGroups(queue *api.QueueInfo, job *api.JobInfo) (more bool) {
	more = a.groups.run(a, job, a.remembersErrors)
	if a.session.JobReady(job) || a.session.JobPipelined(job) {
		return more
	}
	a.nominations.Trial.End()
	g := a.gangOf(queue, job)
	if g == nil || !hypernodes.Known(a.session, job) {
		return false
	}
	domains := a.placements.LargeEnough(job, hypernodes.Domains(a.session, job))
	if !g.begin(domains) || !slices.ContainsFunc(domains, g.search) {
		return false
	}
	failed, why := job.NodesFitErrors, job.JobFitErrors
	job.ResetFitErr()
	a.groups.begin(job.UID)
	a.placements.Follow(g.groups, g.choice)
	more = a.groups.run(a, job, false) // pods with the same role have different nodes
	a.placements.Follow(nil, nil)
	if !a.session.JobReady(job) {
		job.NodesFitErrors, job.JobFitErrors = failed, why
		return false
	}
	return more
}

// place gives the pods the nodes and devices that were found. It returns nil if a node refuses a pod for another reason, such as a port that two pods need.
func (g *gang) place(subJob *api.SubJobInfo) *framework.Statement {
	g.placements.Follow(g.groups, g.choice)
	defer g.placements.Follow(nil, nil)
	statement := framework.NewStatement(g.session)
	for _, group := range g.groups {
		for _, task := range group.Tasks {
			if err := g.placeOn(statement, task, group.Node); err != nil {
				klog.V(3).InfoS("Failed to place a pod together with others", "pod", klog.KObj(task.Pod), "node", group.Node.Name, "err", err)
				statement.Discard()
				return nil
			}
		}
	}
	if !g.session.SubJobReady(g.job, subJob) {
		statement.Discard()
		return nil
	}
	g.tasks[g.job.UID] = g.waiting(subJob)
	return statement
}

func (g *gang) placeOn(statement *framework.Statement, task *api.TaskInfo, node *api.NodeInfo) error {
	if !g.session.Allocatable(g.queue, task) {
		return errNoRoom
	}
	if err := g.session.PrePredicateFn(task); err != nil {
		return err
	}
	if err := g.filter(task, node); err != nil {
		return err
	}
	if !g.Action.place(statement, g.job, task, node) || task.Status != api.Allocated {
		return errNotPlaced
	}
	delete(g.job.NodesFitErrors, task.UID)
	g.failuresOf(g.job).got(task)
	return nil
}
