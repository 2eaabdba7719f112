// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// ungrouped returns the pods that wait because their PodGroup does not exist. No session includes them.
func ungrouped(pods []*corev1.Pod, groups []*schedulingv1beta1.PodGroup) (all []Workload) {
	exists := map[string]bool{}
	for _, group := range groups {
		exists[group.Namespace+"/"+group.Name] = true
	}
	for _, pod := range pods {
		name := groupNamed(pod.Annotations)
		ended := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if ended || pod.Spec.NodeName != "" || pod.Spec.SchedulerName != defaultScheduler || exists[pod.Namespace+"/"+name] {
			continue
		}
		all = append(all, Workload{
			Namespace: pod.Namespace, Name: pod.Name, Kind: "Pod", Queue: pod.Annotations[schedulingv1beta1.QueueNameAnnotationKey], Verdict: Waits,
			Why: &v1alpha1.Refusal{Message: refusals.PodGroupMissing{Namespace: pod.Namespace, Name: name}.Message()},
		})
	}
	return all
}
