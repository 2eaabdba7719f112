// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Stranded is a PodGroup whose queue does not exist, and its pods that have no node. No session has it.
type Stranded struct {
	Group *vcv1beta1.PodGroup
	Pods  []*corev1.Pod
}

// MissingQueues writes, on each PodGroup whose queue does not exist and on its pods that wait, which queue is missing. It
// runs before End, and needs a StatusWriter.
func (r *Reporter) MissingQueues(stranded []Stranded) {
	told := map[types.UID]string{}
	for _, s := range stranded {
		group := &scheduling.PodGroup{}
		if err := schedulingscheme.Scheme.Convert(s.Group.DeepCopy(), group, nil); err != nil {
			klog.ErrorS(err, "Failed to convert a PodGroup", "podGroup", klog.KObj(s.Group))
			continue
		}
		refusal := QueueMissing{Queue: s.Group.Spec.Queue}
		before := group.Status.DeepCopy()
		r.setWaiting(&group.Status, refusal)
		if !sameStatus(before, &group.Status) {
			r.Status.podGroup(group)
		}
		r.tellMissing(told, group.UID, podGroupReference(&group.ObjectMeta), refusal)
		for _, pod := range s.Pods {
			if condition, changed := r.unscheduled(pod, refusal.Message()); changed {
				r.Status.pod(pod, condition)
			}
			r.tellMissing(told, pod.UID, pod, refusal)
		}
	}
	r.toldMissing = told
}

// tellMissing writes an event unless the object was told the same in the last session.
func (r *Reporter) tellMissing(told map[types.UID]string, id types.UID, object runtime.Object, refusal Refusal) {
	message := refusal.Message()
	if r.toldMissing[id] != message {
		r.Recorder.Event(object, corev1.EventTypeWarning, refusal.Reason(), message)
	}
	told[id] = message
}
