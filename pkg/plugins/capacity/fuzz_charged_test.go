// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	corev1 "k8s.io/api/core/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// groupQueue returns the queue of a pod's PodGroup. It is empty if the PodGroup or the queue is missing, or if the queue is misplaced.
func (c *fuzzCluster) groupQueue(pod *corev1.Pod) string {
	group, exists := c.groups.get(pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey])
	if !exists || c.path(group.Spec.Queue) == nil {
		return ""
	}
	return group.Spec.Queue
}

// queueOf returns the queue that a pod is charged to. It is empty if the PodGroup or the queue is missing, the queue is misplaced, or the pod
// waits for another scheduler.
func (c *fuzzCluster) queueOf(pod *corev1.Pod) string {
	queue := c.groupQueue(pod)
	if queue == "" || !seesPod(pod) {
		return ""
	}
	if charged := c.charged[pod.UID]; charged != "" {
		// It stays charged to the queue in which it got its node, or to the lowest one above.
		for _, name := range append([]string{charged}, chargerecord.Path(pod)...) {
			if name == "root" || c.path(name) != nil { // root exists even without its object
				return name
			}
		}
	}
	return queue
}

// noteRunning notes the queue of pods that a session finds with a node and that are not noted yet. It is the queue of the record, or
// the queue of the PodGroup.
func (c *fuzzCluster) noteRunning() {
	for _, pod := range c.pods {
		queue := c.groupQueue(pod)
		runs := pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending
		if c.charged[pod.UID] != "" || pod.Spec.NodeName == "" || !runs || queue == "" {
			continue
		}
		if path := chargerecord.Path(pod); path != nil {
			queue = path[0]
		}
		c.charged[pod.UID] = queue
	}
}

// noteDecided notes the queues of pods that a session is about to bind.
func (c *fuzzCluster) noteDecided(placed []*schedulercache.BindContext) {
	for _, one := range placed {
		c.charged[one.TaskInfo.Pod.UID] = c.groupQueue(one.TaskInfo.Pod)
	}
}

// hasMoved reports whether a running pod without a record has a PodGroup that is now in another queue, or has left its PodGroup. Only a
// process that knows the old queue charges it.
func (c *fuzzCluster) hasMoved() bool {
	for _, pod := range c.pods {
		if charged := c.charged[pod.UID]; pod.Spec.NodeName != "" && chargerecord.Path(pod) == nil && charged != "" && charged != c.groupQueue(pod) {
			return true
		}
	}
	return false
}
