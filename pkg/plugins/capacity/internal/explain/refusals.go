// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Unreported is a reason to wait for which this plugin writes no event.
type Unreported string

// Reason implements report.Refusal.
func (Unreported) Reason() string { return "" }

// Message implements report.Refusal.
func (u Unreported) Message() string { return string(u) }

// Gated refuses a pod with scheduling gates.
func Gated(pod *corev1.Pod) report.Refusal {
	if len(pod.Spec.SchedulingGates) == 0 {
		return nil
	}
	names := make([]string, len(pod.Spec.SchedulingGates))
	for i, gate := range pod.Spec.SchedulingGates {
		names[i] = gate.Name
	}
	return Unreported("The pod has scheduling gates, which somebody else must remove: " + strings.Join(names, ", "))
}

// PodsUnread refuses a job without pods, if Volcano's controllers made the job for pods.
func PodsUnread(job *api.JobInfo) report.Refusal {
	return Unreported(fmt.Sprintf("No pod has PodGroup %s/%s in its annotation %s: see whether Volcano's controllers run, and whether what creates the pods is scaled to zero",
		job.Namespace, job.Name, schedulingv1beta1.KubeGroupNameAnnotationKey))
}

// NotAdmitted returns why a job is not admitted to its queue, in Volcano's words.
func NotAdmitted(job *api.JobInfo) report.Refusal {
	return Unreported(cmp.Or(job.JobFitErrors, unschedulable(job), fmt.Sprintf("The job has not been let into queue <%s> yet", job.Queue)))
}

// unschedulable returns the message of Volcano's condition of a PodGroup.
func unschedulable(job *api.JobInfo) string {
	for _, condition := range job.PodGroup.Status.Conditions {
		if condition.Type == scheduling.PodGroupUnschedulableType && condition.Status == corev1.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}

// pending says why pods of a job wait that this plugin has not refused. A job may have thousands of them, and it takes time for each node to put what nodes say into
// words: that is done once.
type pending struct {
	job     *api.JobInfo
	said    map[*api.FitErrors]string
	untried string
}

func newPending(job *api.JobInfo) *pending {
	return &pending{job: job, said: map[*api.FitErrors]string{}}
}

// why returns Volcano's reason for a pod.
func (p *pending) why(task *api.TaskInfo) string {
	if refusal := Gated(task.Pod); refusal != nil {
		return refusal.Message()
	}
	if nodes := p.job.NodesFitErrors[task.UID]; nodes != nil {
		if p.said[nodes] == "" {
			p.said[nodes] = nodes.Error()
		}
		return p.said[nodes]
	}
	if waits := Gang(p.job); waits != nil {
		return waits.Message()
	}
	if p.job.JobFitErrors == "" && p.untried == "" {
		p.untried = untried(p.job)
	}
	return cmp.Or(p.job.JobFitErrors, p.untried)
}

// untried says why a pod of a job that may run was not tried. Once no node suits a pod, the scheduler leaves out those like it.
func untried(job *api.JobInfo) string {
	var first *api.TaskInfo
	for id := range job.NodesFitErrors {
		if task := job.Tasks[id]; task != nil && (first == nil || task.Name < first.Name) {
			first = task
		}
	}
	if first == nil {
		return "The scheduler has not tried the pod in this session: others came first"
	}
	return fmt.Sprintf("The scheduler has not tried the pod in this session, because no node suits pod <%s> of its job: %s", first.Name, job.NodesFitErrors[first.UID].Error())
}

// Gang refuses a job that lacks pods of its minimum.
func Gang(job *api.JobInfo) report.Refusal {
	ready := job.ReadyTaskNum() + job.WaitingTaskNum()
	if ready >= job.MinAvailable {
		return nil
	}
	return gangIncomplete{exist: int32(len(job.Tasks)), ready: ready, minimum: job.MinAvailable}
}

// gangIncomplete refuses to start some pods of a gang without the others.
type gangIncomplete struct{ exist, ready, minimum int32 }

// Reason implements report.Refusal.
func (gangIncomplete) Reason() string { return refusals.UnschedulableReason }

// Message implements report.Refusal.
func (g gangIncomplete) Message() string {
	if g.exist < g.minimum {
		return fmt.Sprintf("The job starts only with <%d> pods together, and only <%d> of them exist: see whether what creates them runs", g.minimum, g.exist)
	}
	return fmt.Sprintf("The job starts only with <%d> pods together, and only <%d> of them have a place", g.minimum, g.ready)
}

// apart refuses to start a job whose pods, or those of one of its groups, no HyperNode can have together.
type apart eviction.Nearest

// Reason implements report.Refusal.
func (apart) Reason() string { return refusals.UnschedulableReason }

// Message implements report.Refusal.
func (a apart) Message() string {
	of := "the job"
	if a.Group != "" {
		of = fmt.Sprintf("the group <%s>", a.Group)
	}
	if a.Pods == 0 {
		return fmt.Sprintf("As nodes and quotas are now, no HyperNode that %s may use can have any of its <%d> waiting pods", of, a.Waiting)
	}
	return fmt.Sprintf("As nodes and quotas are now, no HyperNode that %s may use can have more than <%d> of its <%d> waiting pods, and <%s> is the first that can", of, a.Pods, a.Waiting, a.HyperNode)
}

// Names of checks besides those that the plugin makes of each pod and each job.
const (
	GatesCheck    = "SchedulingGates"
	AdmittedCheck = "Admitted"
	QueueCheck    = "Queue"
	NodesCheck    = "Nodes"
	GangCheck     = "Gang"
	TopologyCheck = "NetworkTopology"
	SessionCheck  = "Session"
)

// Checks are the checks of an explanation, up to the first one that fails.
type Checks struct {
	// Made has the checks in their order, including those that were not reached.
	Made  []v1alpha1.Check
	cause report.Refusal
}

// Add adds a check. The refusal is nil if it passes. The check does not count if an earlier check has failed.
func (c *Checks) Add(name string, refusal report.Refusal) {
	switch {
	case c.Failed():
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.NotReached})
	case refusal == nil:
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.Passed})
	default:
		c.cause = refusal
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.Failed, Message: refusal.Message()})
	}
}

// Failed reports whether a check has failed.
func (c *Checks) Failed() bool { return c.cause != nil }

// End returns the checks and the cause. told is the refusal already reported, nil if there is none. It takes precedence: it decided in this
// session, and pods may have come or gone since.
func (c *Checks) End(told report.Refusal) ([]v1alpha1.Check, *v1alpha1.Refusal) {
	switch {
	case told == nil && c.cause == nil:
		told = Unreported("No check of this plugin keeps it from starting: another plugin does, or others came first in this session")
		c.Add(SessionCheck, told)
	case told == nil:
		told = c.cause
	case c.cause == nil:
		c.Add(SessionCheck, told)
	}
	return c.Made, describe.Refusal(told)
}
