// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
)

// lateness is the time after which a write is repeated although the API server has refused it: its reason may have been another one.
const lateness = 10 * time.Second

// spent has the versions of objects that were written since, or are gone. The API server refuses each write to them, and while the watch of the scheduler is
// late, each session would try.
type spent struct {
	mu       sync.Mutex
	versions map[types.UID]spentVersion
}

// spentVersion is a version, and the time of its last write.
type spentVersion struct {
	version string
	at      time.Time
}

// note notes the result of a write of an object.
func (s *spent) note(object, written metav1.Object, err error) {
	version := object.GetResourceVersion()
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && (err != nil || written.GetResourceVersion() == version) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[object.GetUID()] = spentVersion{version, time.Now()}
}

func (s *spent) has(object types.UID, version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, found := s.versions[object]
	return found && last.version == version && time.Since(last.at) < lateness
}

func (s *spent) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.versions, func(_ types.UID, last spentVersion) bool { return time.Since(last.at) >= lateness })
}

// statuses writes statuses of pods and queues, unless their versions are spent.
type statuses struct {
	schedulercache.StatusUpdater
	spent *spent
}

// UpdatePodStatus implements schedulercache.StatusUpdater.
func (s statuses) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) {
	if s.spent.has(pod.UID, pod.ResourceVersion) {
		return pod, nil
	}
	written, err := s.StatusUpdater.UpdatePodStatus(pod)
	s.spent.note(pod, written, err)
	return written, err
}

// UpdateQueueStatus implements schedulercache.StatusUpdater.
func (s statuses) UpdateQueueStatus(queue *api.QueueInfo) error {
	if s.spent.has(queue.Queue.UID, queue.Queue.ResourceVersion) {
		return nil
	}
	err := s.StatusUpdater.UpdateQueueStatus(queue)
	s.spent.note(queue.Queue, queue.Queue, err)
	return err
}
