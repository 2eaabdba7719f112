// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// explainOutsider explains a pod that no job of the session has.
func (s *Session) explainOutsider(pod *corev1.Pod) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Subject: describe.Object("Pod", &pod.ObjectMeta), State: v1alpha1.Waiting, Node: pod.Spec.NodeName}
	group := pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		told.State = v1alpha1.Ended
	case options.ServerOpts != nil && !slices.Contains(options.ServerOpts.SchedulerNames, pod.Spec.SchedulerName):
		told.State = v1alpha1.NotScheduled
		told.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("The pod is for scheduler %q: set spec.schedulerName to %s", pod.Spec.SchedulerName, strings.Join(options.ServerOpts.SchedulerNames, " or "))}
	case group == "":
		told.Cause = &v1alpha1.Refusal{Message: "The pod has no PodGroup yet: Volcano's controllers create one for it, see whether they run"}
	default:
		told.Cause = s.whyGroupMissing(pod.Namespace, group)
	}
	if !snapshot.WaitsForNode(pod) && told.State == v1alpha1.Waiting && len(pod.Spec.SchedulingGates) == 0 {
		told.State = v1alpha1.Running // its job is gone
		told.Cause = nil
	}
	return told
}

// whyGroupMissing returns why the session lacks a PodGroup.
func (s *Session) whyGroupMissing(namespace, name string) *v1alpha1.Refusal {
	if group := s.WithoutQueue.PodGroup(namespace, name); group != nil {
		if s.Volcano.Queues[api.QueueID(group.Spec.Queue)] == nil {
			return describe.Refusal(refusals.QueueMissing{Queue: group.Spec.Queue})
		}
		return &v1alpha1.Refusal{Message: fmt.Sprintf("PodGroup %s/%s is not in this session: the scheduler has not read it yet, or it is not ready for scheduling", namespace, name)}
	}
	return &v1alpha1.Refusal{Message: refusals.PodGroupMissing{Namespace: namespace, Name: name}.Message()}
}
