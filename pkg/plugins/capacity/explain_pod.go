// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// explainTask explains a pod that a job of the session has.
func (p *plugin) explainTask(job *api.JobInfo, task *api.TaskInfo) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Subject: describe.Object("Pod", &task.Pod.ObjectMeta), Queue: string(job.Queue), State: explain.StateOfPod(task)}
	p.tellHolding(told, job, task)
	switch told.State {
	case v1alpha1.Running, v1alpha1.Releasing:
		told.Node = task.NodeName
	case v1alpha1.Promised:
		told.Node = task.NodeName
		p.explainPromise(told, task)
	case v1alpha1.Waiting, v1alpha1.Gated:
		p.explainWaiting(told, job, task)
	}
	return told
}

// tellHolding says what a pod asks for and holds, and how the queues stand in it.
func (p *plugin) tellHolding(told *v1alpha1.Explanation, job *api.JobInfo, task *api.TaskInfo) {
	described := p.described()
	if holder, holds := described.Holder(job, task); holds {
		told.Charged, told.Devices = holder.Charged, holder.Devices
	}
	pod := p.snapshot.Known(task.Pod)
	if pod == nil || !pod.InLedger {
		return
	}
	asked := described.Asked(pod)
	told.Asked, told.Standings = described.Amounts(asked), described.Standings(pod.Queue, asked)
}

// explainWaiting says why a pod has no node.
func (p *plugin) explainWaiting(told *v1alpha1.Explanation, job *api.JobInfo, task *api.TaskInfo) {
	var checks explain.Checks
	checks.Add(explain.GatesCheck, explain.Gated(task.Pod))
	checks.Add(explain.AdmittedCheck, p.notAdmitted(job))
	p.checkPod(&checks, job, task)
	if !checks.Failed() {
		told.Nodes = p.askNodes(task)
		checks.Add(explain.NodesCheck, explain.NoNode(job, task, len(p.session.NodeList), told.Nodes))
	}
	checks.Add(explain.GangCheck, explain.Gang(job))
	cause := p.toldCause(job, task)
	told.Checks, told.Cause = checks.End(cause)
	told.Holders = explain.HoldersOfMissing(p.described(), task, cause)
	told.Eviction = p.explainEviction(job)
	told.Supplies = p.suppliesFor(job, task)
}

// notAdmitted says why a job has not been let in.
func (p *plugin) notAdmitted(job *api.JobInfo) report.Refusal {
	if !job.IsPending() {
		return nil
	}
	if refusal, task := p.cache.report.WhyJob(job.UID); refusal != nil && task == nil {
		return refusal
	}
	if podsUnread(job) {
		return explain.PodsUnread(job)
	}
	return explain.NotAdmitted(job)
}

// suppliesFor says where the devices and cards are that a pod asks for, or a job if the pod is nil. It says nothing while the plugin does
// not know them all.
func (p *plugin) suppliesFor(job *api.JobInfo, task *api.TaskInfo) []v1alpha1.Supply {
	if p.notReady() != nil {
		return nil
	}
	supplies := explain.Supplies{Snapshot: p.snapshot, Fleet: p.cards.Fleet, Nodes: p.session.NodeList}
	if p.devices != nil {
		supplies.Devices = p.devices.Supplies
	}
	if task == nil {
		return supplies.ForJob(job)
	}
	return supplies.ForPod(task)
}

// toldCause returns what people have been told why a pod waits, nil if that is nothing.
func (p *plugin) toldCause(job *api.JobInfo, task *api.TaskInfo) report.Refusal {
	if refusal := p.cache.report.WhyPod(task.UID); refusal != nil {
		return p.explained(job.UID, refusal)
	}
	if refusal, of := p.cache.report.WhyJob(job.UID); refusal != nil && of == nil {
		return refusal
	}
	if refusal := p.refusalOfVariants(task); refusal != nil {
		return p.explained(job.UID, refusal)
	}
	return nil
}

// checkPod makes the checks of the queue and of the pod. A pod that may get its extended resources in different ways passes a check if
// one way does.
func (p *plugin) checkPod(checks *explain.Checks, job *api.JobInfo, task *api.TaskInfo) {
	pod, info := p.snapshot.Known(task.Pod), p.session.Queues[job.Queue]
	if pod == nil || info == nil {
		checks.Add(explain.QueueCheck, report.PodUnknown{})
		return
	}
	queue, refusal := p.snapshot.QueueFor(pod, info)
	if checks.Add(explain.QueueCheck, refusal); refusal != nil {
		return
	}
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*demand.Pod{pod}
	}
	for _, check := range podChecks {
		var refused []report.Refusal
		for _, variant := range variants {
			if check.on&kindOf(variant) != check.on {
				continue
			}
			if refusal := check.refuse(p, podAsk{pod: variant, queue: queue, books: p.snapshot.Ledger}); refusal != nil {
				refused = append(refused, refusal)
			}
		}
		if len(refused) == len(variants) {
			checks.Add(check.name, refused[0])
		} else {
			checks.Add(check.name, nil)
		}
	}
}

// explainPromise says for whom a pod waits that is promised a node.
func (p *plugin) explainPromise(told *v1alpha1.Explanation, task *api.TaskInfo) {
	node := p.session.Nodes[task.NodeName]
	if node == nil {
		return
	}
	waits, described := report.WaitsForVictims{Node: node.Name}, p.described()
	var victims []v1alpha1.Holder
	for _, other := range node.Tasks {
		if other.Status != api.Releasing {
			continue
		}
		waits.Pods = append(waits.Pods, other.Namespace+"/"+other.Name)
		if victim, holds := described.Holder(p.jobOf(other), other); holds {
			victims = append(victims, victim)
		}
	}
	if len(waits.Pods) == 0 {
		told.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("Waits on node <%s> for the other pods of its job, or for what is leaving the node", node.Name)}
		return
	}
	// Names of pods are in the list of victims alone: not everybody may know them.
	told.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("Waits on node <%s> for %d pods to leave", node.Name, len(waits.Pods))}
	told.Eviction = &v1alpha1.Eviction{Possible: true, Message: "These pods are leaving", Victims: victims}
}
