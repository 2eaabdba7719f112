// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
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

// IsLeaving reports whether a pod is about to give up what it holds.
func (s *Snapshot) IsLeaving(task *api.TaskInfo) bool {
	return isOver(task.Pod) || task.Status == api.Releasing && !s.endsLate(task)
}

// endsLate reports whether a pod that is being deleted may run for longer than room is kept for others. It counts as any other pod that runs,
// but cannot be evicted again: otherwise, jobs would wait for it in vain, and a user could protect all pods of a queue with one of them.
// The scheduler gives less time to the pods that it evicts.
func (s *Snapshot) endsLate(task *api.TaskInfo) bool {
	at := task.Pod.DeletionTimestamp
	if task.Status != api.Releasing || at == nil || s.Late.IsZero() || isOver(task.Pod) {
		return false
	}
	return s.Late.Before(at.Time) || dra.Bound(task.Pod) && at.Time.Before(s.Overdue)
}

// WithholdLate takes the pods that end late out of what nodes release. Otherwise, pods that fit only without them are pipelined there, and
// no action makes room for those pods elsewhere. Nodes also have pods that belong to no job, such as those of other schedulers.
func (s *Snapshot) WithholdLate(nodes map[string]*api.NodeInfo) {
	for _, node := range nodes {
		if node.Releasing.IsEmpty() {
			continue
		}
		for _, task := range node.Tasks {
			if s.endsLate(task) {
				node.Releasing.SubWithoutAssert(task.Resreq)
			}
		}
	}
}
