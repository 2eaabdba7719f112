// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// outsiders returns what waits outside the session.
func (s *Session) outsiders() []report.Outsider {
	if s.Outsiders == nil {
		return nil
	}
	return slices.Concat(s.Outsiders.WithoutQueue, s.Outsiders.FindWithoutGroup(s.Snapshot.Queues))
}

// outsideWorkload describes a workload that waits, and that the session does not have.
func (s *Session) outsideWorkload(o *report.Outsider) v1alpha1.Workload {
	var workload v1alpha1.Workload
	switch {
	case o.Group != nil:
		workload = v1alpha1.Workload{
			Namespace: o.Group.Namespace, Name: o.Group.Name, UID: string(o.Group.UID), Queue: o.Group.Spec.Queue, Phase: string(o.Group.Status.Phase),
			MinMember: o.Group.Spec.MinMember, Created: o.Group.CreationTimestamp, Owner: Owner(o.Group),
			Waits: Refusal(refusals.QueueMissing{Queue: o.Group.Spec.Queue}),
		}
	case o.Job != nil:
		workload = v1alpha1.Workload{
			Namespace: o.Job.Namespace, UID: string(o.Job.UID), Queue: o.Job.Spec.Queue, Phase: string(PhaseOf(o.Job)),
			MinMember: o.Job.Spec.MinAvailable, Created: o.Job.CreationTimestamp, Owner: ptr.To(Object("Job", &o.Job.ObjectMeta)),
			Waits: Refusal(s.WhyWithoutGroup(o.Job)),
		}
	default:
		pod := o.Pods[0]
		workload = v1alpha1.Workload{
			Namespace: pod.Namespace, UID: string(pod.UID), Queue: pod.Annotations[schedulingv1beta1.QueueNameAnnotationKey], Phase: string(pod.Status.Phase),
			MinMember: 1, Created: pod.CreationTimestamp, Owner: ptr.To(Object("Pod", &pod.ObjectMeta)), Waits: Refusal(WhyPodWithoutGroup(pod)),
		}
	}
	if len(o.Pods) > 0 {
		workload.Pods = map[string]int32{api.Pending.String(): int32(len(o.Pods))}
	}
	return workload
}

// PhaseOf returns the phase of a Volcano Job. A new Job has none: it is Pending.
func PhaseOf(job *batchv1alpha1.Job) batchv1alpha1.JobPhase {
	return cmp.Or(job.Status.State.Phase, batchv1alpha1.Pending)
}

// WhyWithoutGroup returns why a Volcano Job has no PodGroup. Volcano's controllers make none if the queue does not exist.
func (s *Session) WhyWithoutGroup(job *batchv1alpha1.Job) report.Refusal {
	if s.Snapshot.Queues[api.QueueID(job.Spec.Queue)] == nil {
		return refusals.QueueMissing{Queue: job.Spec.Queue}
	}
	if refusal := s.Snapshot.OtherScheduler(job); refusal != nil {
		return refusal
	}
	return refusals.WithoutPodGroup{Subject: "job"}
}

// WhyPodWithoutGroup returns why a pod has no PodGroup.
func WhyPodWithoutGroup(pod *corev1.Pod) report.Refusal {
	if group := pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]; group != "" {
		return refusals.PodGroupMissing{Namespace: pod.Namespace, Name: group}
	}
	return refusals.WithoutPodGroup{Subject: "pod"}
}
