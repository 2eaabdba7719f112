// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
)

// catchUpLimit limits how long after the start a pod blocks the allocation of devices to other pods. This pod holds
// devices, or others were evicted for it, but it belongs to no job of the session.
const catchUpLimit = 30 * time.Second

// catchUp tracks whether sessions may lack pods. After a start, handlers fill the scheduler's cache later than the
// informers. A pod missing from the cache is a charge missing from the ledger, or room that is not kept for the pod.
type catchUp struct {
	clock   clock.PassiveClock
	started time.Time
	// done is set once the cache has had all pods that hold devices or cards, or have a nominated node.
	done bool
}

// StartCatchUp starts to wait for pods that hold devices or cards, or have a nominated node.
func (c *Cache) StartCatchUp(clock clock.Clock) {
	c.failed.Clock = clock
	c.catchUp = catchUp{clock: clock, started: clock.Now()}
}

// MissingPod returns a pod that holds devices or cards, or has a nominated node, and belongs to no job of the session. It returns nil if there
// is none. The function claims lists all claims, and is nil if the scheduler does not allocate devices. claimsReady says that all claims have
// been read.
func (c *Cache) MissingPod(jobs map[api.JobID]*api.JobInfo, pods corelisters.PodLister, claims func() ([]*resourceapi.ResourceClaim, error), claimsReady bool) *corev1.Pod {
	if c.catchUp.done || c.catchUp.clock.Since(c.catchUp.started) > catchUpLimit {
		c.catchUp.done = true
		return nil
	}
	known := map[types.UID]bool{}
	for _, job := range jobs {
		for _, task := range job.Tasks {
			known[task.Pod.UID] = true
		}
	}
	if missing := c.missingByItself(known, pods); missing != nil {
		return missing
	}
	if claims != nil && claimsReady {
		if missing := missingConsumer(known, pods, claims); missing != nil {
			return missing
		}
	}
	c.catchUp.done = claims == nil || claimsReady
	return nil
}

// missingByItself returns an unknown pod whose claims do not matter: it has a nominated node, or it has a node, requests cards, and only its
// PodGroup knows its queue. Volcano's cache never has a pod of another scheduler without a node.
func (c *Cache) missingByItself(known map[types.UID]bool, pods corelisters.PodLister) *corev1.Pod {
	all, err := pods.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list pods")
		return nil
	}
	for _, pod := range all {
		if known[pod.UID] || isOver(pod) || !inPodGroup(pod) {
			continue
		}
		missing := pod.Status.NominatedNodeName != "" && !foreign(pod)
		if pod.Spec.NodeName != "" {
			missing = demand.RequestsCards(pod, c.Fleet)
		}
		if missing {
			return pod
		}
	}
	return nil
}

// missingConsumer returns an unknown pod that holds an allocated claim, if only its PodGroup knows its queue.
func missingConsumer(known map[types.UID]bool, pods corelisters.PodLister, claims func() ([]*resourceapi.ResourceClaim, error)) *corev1.Pod {
	all, err := claims()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
		return nil
	}
	for _, claim := range all {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, consumer := range claim.Status.ReservedFor {
			if consumer.Resource != "pods" || known[consumer.UID] {
				continue
			}
			pod, err := pods.Pods(claim.Namespace).Get(consumer.Name)
			if err == nil && pod.UID == consumer.UID && inPodGroup(pod) {
				return pod
			}
		}
	}
	return nil
}

// inPodGroup reports whether a pod belongs to a PodGroup and has no record of its queue. Other pods are charged correctly
// even if the session lacks their job.
func inPodGroup(pod *corev1.Pod) bool {
	return pod.Annotations[groupName] != "" && chargerecord.Path(pod) == nil
}
