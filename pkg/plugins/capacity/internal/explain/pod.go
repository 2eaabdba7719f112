// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// explainTask explains a pod that a job of the session has.
func (s *Session) explainTask(job *api.JobInfo, task *api.TaskInfo) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Subject: describe.Object("Pod", &task.Pod.ObjectMeta), Queue: string(job.Queue), State: StateOfPod(task)}
	s.tellHolding(told, job, task)
	switch told.State {
	case v1alpha1.Running, v1alpha1.Releasing:
		told.Node = task.NodeName
	case v1alpha1.Promised:
		told.Node = task.NodeName
		s.explainPromise(told, task)
	case v1alpha1.Waiting, v1alpha1.Gated:
		s.explainWaiting(told, job, task)
	}
	return told
}

// tellHolding adds the request and the holdings of a pod, and the standings of its queues.
func (s *Session) tellHolding(told *v1alpha1.Explanation, job *api.JobInfo, task *api.TaskInfo) {
	described := s.Described
	if holder, holds := described.Holder(job, task); holds {
		told.Charged, told.Devices = holder.Charged, holder.Devices
	}
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil || !pod.InLedger {
		return
	}
	asked := described.Asked(pod)
	told.Asked, told.Standings = described.Amounts(asked), described.Standings(pod.Queue, asked)
}

// explainWaiting explains why a pod has no node.
func (s *Session) explainWaiting(told *v1alpha1.Explanation, job *api.JobInfo, task *api.TaskInfo) {
	var checks Checks
	checks.Add(GatesCheck, Gated(task.Pod))
	checks.Add(AdmittedCheck, s.notAdmitted(job))
	s.checkPod(&checks, job, task)
	if !checks.Failed() {
		told.Nodes = s.askNodes(task)
		checks.Add(NodesCheck, NoNode(job, task, len(s.Volcano.NodeList), told.Nodes))
	}
	checks.Add(GangCheck, Gang(job))
	cause := s.Cause(job, task)
	told.Checks, told.Cause = checks.End(cause)
	s.tellOthers(told, job, task, cause)
	told.Supplies = s.suppliesFor(job, task)
}

// notAdmitted returns why a job is not admitted, nil if it is.
func (s *Session) notAdmitted(job *api.JobInfo) report.Refusal {
	if !job.IsPending() {
		return nil
	}
	if refusal, task := s.Report.WhyJob(job.UID); refusal != nil && task == nil {
		return refusal
	}
	if checks.PodsUnread(job) {
		return PodsUnread(job)
	}
	return NotAdmitted(job)
}

// suppliesFor returns where the devices and cards are that a pod asks for, or a job if the pod is nil. It returns nil while the plugin
// does not know them all.
func (s *Session) suppliesFor(job *api.JobInfo, task *api.TaskInfo) []v1alpha1.Supply {
	if s.Checks.NotReady() != nil {
		return nil
	}
	supplies := Supplies{Snapshot: s.Snapshot, Places: s.Described.Places}
	if task == nil {
		return supplies.ForJob(job)
	}
	return supplies.ForPod(task)
}

// Cause returns the reported reason why a pod waits, nil if there is none.
func (s *Session) Cause(job *api.JobInfo, task *api.TaskInfo) report.Refusal {
	if refusal := s.Report.WhyPod(task.UID); refusal != nil {
		return s.Elastic.Explained(job.UID, refusal)
	}
	if refusal, of := s.Report.WhyJob(job.UID); refusal != nil && of == nil {
		return refusal
	}
	if refusal := s.Placements.Refusal(task); refusal != nil {
		return s.Elastic.Explained(job.UID, refusal)
	}
	if pod := s.Snapshot.Known(task.Pod); pod != nil && job.NodesFitErrors[task.UID] != nil {
		return s.Checks.NeverFits(pod)
	}
	return nil
}

// checkPod makes the checks of the queue and of the pod.
func (s *Session) checkPod(checks *Checks, job *api.JobInfo, task *api.TaskInfo) {
	pod, info := s.Snapshot.Known(task.Pod), s.Volcano.Queues[job.Queue]
	if pod == nil || info == nil {
		checks.Add(QueueCheck, report.PodUnknown{})
		return
	}
	queue, refusal := s.Snapshot.QueueFor(pod, info)
	if checks.Add(QueueCheck, refusal); refusal != nil {
		return
	}
	for _, check := range s.Checks.EachOfPod(queue, pod) {
		checks.Add(check.Name, check.Refusal)
	}
}

// explainPromise explains which pods a promised pod waits for.
func (s *Session) explainPromise(told *v1alpha1.Explanation, task *api.TaskInfo) {
	node := s.Volcano.Nodes[task.NodeName]
	if node == nil {
		return
	}
	waits, described := report.WaitsForVictims{Node: node.Name}, s.Described
	var victims []v1alpha1.Holder
	for _, other := range node.Tasks {
		if other.Status != api.Releasing {
			continue
		}
		waits.Pods = append(waits.Pods, other.Namespace+"/"+other.Name)
		if victim, holds := described.Holder(s.Volcano.Jobs[other.Job], other); holds {
			victims = append(victims, victim)
		}
	}
	if len(waits.Pods) == 0 {
		told.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("Waits on node <%s> for the other pods of its job, or for what is leaving the node", node.Name)}
		return
	}
	// Pod names are only in the list of victims: not every user may see them.
	told.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("Waits on node <%s> for %d pods to leave", node.Name, len(waits.Pods))}
	told.Eviction = &v1alpha1.Eviction{Possible: true, Message: "These pods are leaving", Victims: victims}
}
