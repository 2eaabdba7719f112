// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// heldSince returns when a pod got its node according to the API server, nil if not known yet. Pods that no scheduler placed have no
// condition.
func heldSince(pod *corev1.Pod) *metav1.Time {
	if since := snapshot.ScheduledSince(pod); since != nil {
		return since
	}
	return pod.Status.StartTime
}

// allocatedSince returns when a claim got its devices, the zero time if unknown.
func allocatedSince(claim *resourceapi.ResourceClaim) time.Time {
	if claim.Status.Allocation == nil || claim.Status.Allocation.AllocationTimestamp == nil {
		return time.Time{}
	}
	return claim.Status.Allocation.AllocationTimestamp.Time
}

// finished returns when the last container of a pod finished, the zero time if the pod still runs.
func finished(pod *corev1.Pod) time.Time {
	var end time.Time
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return end
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if ended := statuses[i].State.Terminated; ended != nil && ended.FinishedAt.After(end) {
				end = ended.FinishedAt.Time
			}
		}
	}
	return end
}
