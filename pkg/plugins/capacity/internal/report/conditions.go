// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// explainPod writes the reason why a pod waits into its PodScheduled condition. Upstream would write the condition, too, and
// an event FailedScheduling with the same message. It writes neither if the pod in the session already has the condition.
func (r *Reporter) explainPod(job *api.JobInfo, id api.TaskID, message string) {
	task := job.TaskStatusIndex[api.Pending][id]
	if r.Status == nil || task == nil || task.SchGated {
		return
	}
	if reason, says, _ := job.TaskSchedulingReason(id); reason != api.PodReasonUnschedulable || says != message {
		return // upstream has a different message
	}
	condition, changed := r.unscheduled(task.Pod, message)
	if !changed {
		return
	}
	r.Status.pod(task.Pod, condition)
	explained := *task.Pod // the original belongs to the scheduler's cache
	explained.Status.Conditions = append(slices.DeleteFunc(slices.Clone(task.Pod.Status.Conditions), isPodScheduled), condition)
	task.Pod = &explained
}

// unscheduled returns the PodScheduled condition of a waiting pod, and whether the pod lacks it. Cluster autoscalers look for its reason.
func (r *Reporter) unscheduled(pod *corev1.Pod, message string) (corev1.PodCondition, bool) {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	i := slices.IndexFunc(pod.Status.Conditions, isPodScheduled)
	if i < 0 {
		return condition, true
	}
	last := pod.Status.Conditions[i]
	if last.Status == condition.Status {
		condition.LastTransitionTime = last.LastTransitionTime
	}
	condition.ObservedGeneration = last.ObservedGeneration
	return condition, last.Status != condition.Status || last.Reason != condition.Reason || last.Message != message
}

func isPodScheduled(condition corev1.PodCondition) bool { return condition.Type == corev1.PodScheduled }

// WaitingCondition says why a PodGroup, or some of its pods, wait. A PodGroup that does
// not wait, or waits for something else, has no such condition. The type is not Volcano's Unschedulable, because the plugin
// gang writes that one in each session.
const WaitingCondition scheduling.PodGroupConditionType = "Waiting"

func waitingIndex(status *scheduling.PodGroupStatus) int {
	return slices.IndexFunc(status.Conditions, func(c scheduling.PodGroupCondition) bool { return c.Type == WaitingCondition })
}

// setWaiting sets the condition of a PodGroup to the reason why it waits, with a message of its refusal.
func (r *Reporter) setWaiting(status *scheduling.PodGroupStatus, refusal Refusal, message string) {
	condition := scheduling.PodGroupCondition{
		Type: WaitingCondition, Status: corev1.ConditionTrue, TransitionID: string(r.session), LastTransitionTime: metav1.NewTime(r.Clock.Now()),
		Reason: waitingReason(refusal), Message: message,
	}
	i := waitingIndex(status)
	if i < 0 {
		status.Conditions = append(slices.Clip(status.Conditions), condition)
		return
	}
	last := &status.Conditions[i]
	if last.Status == condition.Status {
		condition.TransitionID, condition.LastTransitionTime = last.TransitionID, last.LastTransitionTime
	}
	*last = condition
}

// waitingReason returns the reason of the condition.
func waitingReason(refusal Refusal) string {
	return cmp.Or(refusal.Reason(), refusals.UnschedulableReason)
}

// clearWaiting removes the condition from a PodGroup.
func clearWaiting(status *scheduling.PodGroupStatus) {
	if i := waitingIndex(status); i >= 0 {
		status.Conditions = slices.Delete(status.Conditions, i, i+1)
	}
}

// refuses notes the refusal of a pod for the condition of its PodGroup. The pods of a job may be refused for several
// reasons, in any order. The reason already in the condition stays as long as it applies.
func (r *Reporter) refuses(job *api.JobInfo, refused podRefusal) {
	current, found := r.waiting[job.UID]
	said := ""
	if i := waitingIndex(&job.PodGroup.Status); i >= 0 {
		said = job.PodGroup.Status.Conditions[i].Message
	}
	switch {
	case !found, refused.message == said, current.message != said && refused.message < current.message:
		r.waiting[job.UID] = refused
	}
}

// explainJob writes the reason why a job's pods wait into the conditions of its PodGroup. Upstream quotes JobFitErrors in its condition
// Unschedulable. If JobFitErrors is empty, upstream picks any of the pods, and writes the PodGroup whenever the pick changes.
func (r *Reporter) explainJob(job *api.JobInfo, refused podRefusal) {
	r.setWaiting(&job.PodGroup.Status, refused.refusal, refused.message)
	job.JobFitErrors = cmp.Or(job.JobFitErrors, refused.message)
}
