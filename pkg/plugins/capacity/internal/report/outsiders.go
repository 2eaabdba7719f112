// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// Outsider is something that no session has: a PodGroup whose queue does not exist, with its waiting pods, or a Volcano Job or a pod without
// a PodGroup. The objects belong to informers.
type Outsider struct {
	// Group is nil if there is no PodGroup. Job is set for a Volcano Job without a PodGroup only.
	Group *vcv1beta1.PodGroup
	Job   *batchv1alpha1.Job
	Pods  []*corev1.Pod
}

// Waits reports whether the PodGroup or one of its pods waits.
func (o Outsider) Waits() bool {
	if o.Group == nil {
		return true
	}
	switch o.Group.Status.Phase {
	case vcv1beta1.PodGroupRunning, vcv1beta1.PodGroupCompleted:
		return len(o.Pods) > 0
	default:
		return true
	}
}

// MissingQueues writes which queue is missing on each waiting PodGroup whose queue does not exist, and on its waiting pods. Volcano Jobs
// get an event. It clears the condition once a PodGroup no longer waits. It runs before End, and needs a StatusWriter.
func (r *Reporter) MissingQueues(withoutQueue []Outsider) {
	told := map[types.UID]string{}
	for _, s := range withoutQueue {
		if s.Job != nil {
			job := reference(batchv1alpha1.SchemeGroupVersion, "Job", &s.Job.ObjectMeta)
			r.tellMissing(told, s.Job.UID, job, refusals.QueueMissing{Queue: s.Job.Spec.Queue})
			continue
		}
		refusal := refusals.QueueMissing{Queue: s.Group.Spec.Queue}
		said := waitingOf(s.Group)
		if !s.Waits() {
			if said != nil {
				r.writeStranded(s.Group, clearWaiting)
			}
			continue
		}
		if said == nil || said.Status != corev1.ConditionTrue || said.Reason != waitingReason(refusal) || said.Message != refusal.Message() {
			r.writeStranded(s.Group, func(status *scheduling.PodGroupStatus) { r.setWaiting(status, refusal, refusal.Message()) })
		}
		r.tellMissing(told, s.Group.UID, podGroupReference(&s.Group.ObjectMeta), refusal)
		for _, pod := range s.Pods {
			if condition, changed := r.unscheduled(pod, refusal.Message()); changed {
				r.Status.pod(pod, condition)
			}
			r.tellMissing(told, pod.UID, pod, refusal)
		}
	}
	r.notifiedMissing = told
}

// waitingOf returns the Waiting condition of a PodGroup, nil if it has none.
func waitingOf(group *vcv1beta1.PodGroup) *vcv1beta1.PodGroupCondition {
	i := slices.IndexFunc(group.Status.Conditions, func(c vcv1beta1.PodGroupCondition) bool {
		return c.Type == vcv1beta1.PodGroupConditionType(WaitingCondition)
	})
	if i < 0 {
		return nil
	}
	return &group.Status.Conditions[i]
}

// writeStranded writes a copy of a PodGroup with a changed status.
func (r *Reporter) writeStranded(original *vcv1beta1.PodGroup, change func(*scheduling.PodGroupStatus)) {
	group := &scheduling.PodGroup{}
	if err := schedulingscheme.Scheme.Convert(original.DeepCopy(), group, nil); err != nil {
		klog.ErrorS(err, "Failed to convert a PodGroup", "podGroup", klog.KObj(original))
		return
	}
	change(&group.Status)
	r.Status.podGroup(group)
}

// tellMissing writes an event, unless the object got the same message in the last session.
func (r *Reporter) tellMissing(told map[types.UID]string, id types.UID, object runtime.Object, refusal Refusal) {
	message := refusal.Message()
	if r.notifiedMissing[id] != message {
		r.Recorder.Event(object, corev1.EventTypeWarning, refusal.Reason(), message)
	}
	told[id] = message
}
