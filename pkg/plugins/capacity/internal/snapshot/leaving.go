// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Leaving reports whether an allocated claim is not used any more, so its devices are free soon. Either the pods in its
// reservation are gone or have ended, or it has no reservation and is about to be deleted.
func (s *Snapshot) Leaving(claim *resourceapi.ResourceClaim) bool {
	if len(claim.Status.ReservedFor) == 0 {
		return claim.DeletionTimestamp != nil || s.ownerIsGone(claim)
	}
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.APIGroup != "" || consumer.Resource != "pods" || s.stillRuns(claim.Namespace, consumer.Name, consumer.UID) {
			return false
		}
	}
	return true
}

// ownerIsGone reports whether a claim was made for a pod that no longer exists.
func (s *Snapshot) ownerIsGone(claim *resourceapi.ResourceClaim) bool {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.Kind != "Pod" || owner.APIVersion != "v1" {
		return false
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: owner.Name, UID: owner.UID}}
	return resourceclaim.IsForPod(pod, claim) == nil && !s.stillRuns(claim.Namespace, owner.Name, owner.UID)
}

// stillRuns reports whether a pod exists and has not ended.
func (s *Snapshot) stillRuns(namespace, name string, uid types.UID) bool {
	if s.alive == nil {
		s.alive = make(map[types.UID]bool, len(s.consumers))
		for _, c := range s.consumers {
			s.alive[c.task.Pod.UID] = !isOver(c.task.Pod)
		}
	}
	if s.alive[uid] {
		return true
	}
	return s.exists(namespace, name, uid)
}

// exists reports whether the API server has a pod that has not ended.
func (s *Snapshot) exists(namespace, name string, uid types.UID) bool {
	pod, err := s.Pods.Pods(namespace).Get(name)
	return err == nil && pod.UID == uid && !isOver(pod)
}

// isLeaving reports whether a pod is about to give up its devices.
func isLeaving(task *api.TaskInfo) bool {
	return task.Status == api.Releasing || isOver(task.Pod)
}
