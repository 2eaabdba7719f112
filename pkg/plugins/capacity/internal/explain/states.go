// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// StateOfPod returns the state of a pod of the session.
func StateOfPod(task *api.TaskInfo) v1alpha1.State {
	switch {
	case task.Status == api.Pipelined:
		return v1alpha1.Promised
	case task.Status == api.Releasing:
		return v1alpha1.Releasing
	case api.AllocatedStatus(task.Status):
		return v1alpha1.Running
	case task.Status == api.Pending && task.SchGated:
		return v1alpha1.Gated
	case task.Status == api.Pending:
		return v1alpha1.Waiting
	default:
		return v1alpha1.Ended
	}
}

// StateOfJob returns the state of a job of the session.
func StateOfJob(job *api.JobInfo) v1alpha1.State {
	switch {
	case job.PodGroup.Status.Phase == scheduling.PodGroupCompleted:
		return v1alpha1.Ended
	case job.IsPending() || job.ReadyTaskNum() < job.MinAvailable || len(job.TaskStatusIndex[api.Pending]) > 0:
		return v1alpha1.Waiting
	default:
		return v1alpha1.Running
	}
}

// withoutGroup explains a Volcano Job without a PodGroup: Volcano's controllers have deleted it, or have not created it.
func (s *Session) withoutGroup(job *batchv1alpha1.Job) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Subject: describe.Object("Job", &job.ObjectMeta), Queue: job.Spec.Queue}
	switch describe.PhaseOf(job) {
	case batchv1alpha1.Completed, batchv1alpha1.Failed, batchv1alpha1.Terminated, batchv1alpha1.Aborted:
		told.State = v1alpha1.Ended
	case batchv1alpha1.Completing, batchv1alpha1.Terminating, batchv1alpha1.Aborting:
		told.State = v1alpha1.Releasing
	default:
		told.State = v1alpha1.Waiting
		told.Cause = describe.Refusal(s.Described.WhyWithoutGroup(job))
	}
	return told
}

// explainOutsider explains a pod that no job of the session has.
func (s *Session) explainOutsider(pod *corev1.Pod) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Subject: describe.Object("Pod", &pod.ObjectMeta), State: v1alpha1.Waiting, Node: pod.Spec.NodeName}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		told.State = v1alpha1.Ended
	case options.ServerOpts != nil && !slices.Contains(options.ServerOpts.SchedulerNames, pod.Spec.SchedulerName):
		told.State = v1alpha1.NotScheduled
		told.Cause = describe.Refusal(refusals.OtherScheduler{Subject: "pod", Scheduler: pod.Spec.SchedulerName, Names: options.ServerOpts.SchedulerNames})
	default:
		told.Cause = s.whyGroupMissing(pod)
	}
	if !snapshot.WaitsForNode(pod) && told.State == v1alpha1.Waiting && len(pod.Spec.SchedulingGates) == 0 {
		told.State = v1alpha1.Running // its job is gone
		told.Cause = nil
	}
	return told
}

// whyGroupMissing returns why the session lacks the PodGroup of a pod.
func (s *Session) whyGroupMissing(pod *corev1.Pod) *v1alpha1.Refusal {
	group := s.Outsiders.PodGroup(pod.Namespace, pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey])
	switch {
	case group == nil:
		return describe.Refusal(describe.WhyPodWithoutGroup(pod))
	case s.Volcano.Queues[api.QueueID(group.Spec.Queue)] == nil:
		return describe.Refusal(refusals.QueueMissing{Queue: group.Spec.Queue})
	default:
		return &v1alpha1.Refusal{Message: fmt.Sprintf("PodGroup %s/%s is not in this session: the scheduler has not read it yet, or it is not ready for scheduling", group.Namespace, group.Name)}
	}
}
