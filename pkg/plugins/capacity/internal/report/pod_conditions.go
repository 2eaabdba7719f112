// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
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
