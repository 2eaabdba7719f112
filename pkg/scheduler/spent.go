// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/spent"
)

// statuses writes statuses of pods and queues, unless their versions are spent.
type statuses struct {
	schedulercache.StatusUpdater
	spent *spent.Versions
}

// UpdatePodStatus implements schedulercache.StatusUpdater.
func (s statuses) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) {
	if s.spent.Has(pod.UID, pod.ResourceVersion) {
		return pod, nil
	}
	written, err := s.StatusUpdater.UpdatePodStatus(pod)
	version := ""
	if err == nil {
		version = written.ResourceVersion
	}
	s.spent.Note(pod.UID, pod.ResourceVersion, version, err)
	return written, err
}

// UpdateQueueStatus implements schedulercache.StatusUpdater.
func (s statuses) UpdateQueueStatus(queue *api.QueueInfo) error {
	if s.spent.Has(queue.Queue.UID, queue.Queue.ResourceVersion) {
		return nil
	}
	err := s.StatusUpdater.UpdateQueueStatus(queue)
	s.spent.Note(queue.Queue.UID, queue.Queue.ResourceVersion, queue.Queue.ResourceVersion, err) // which version was written is not known
	return err
}
