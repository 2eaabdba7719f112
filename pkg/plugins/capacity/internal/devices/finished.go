// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// finishedPod is a pod that has finished or was deleted.
type finishedPod struct {
	*corev1.Pod
	deleted bool
}

// newFinished returns a work queue of finished pods. Its rate limiter spaces retries if a claim cannot be deleted.
func newFinished() workqueue.TypedRateLimitingInterface[finishedPod] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[finishedPod]())
}

// WatchPods deletes, in the background, the claims for extended resources of pods that finish or are deleted. Kubernetes 1.34 leaves the devices of finished pods
// allocated until they are deleted.
func (c *Cache) WatchPods(pods toolscache.SharedInformer) error {
	_, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.update(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { c.update(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if pod, ok := readiness.LastState(object).(*corev1.Pod); ok {
				c.remove(pod)
			}
		},
	})
	return err
}

func (c *Cache) update(pod *corev1.Pod) {
	if pod.Status.ExtendedResourceClaimStatus != nil && allocation.Finished(pod) {
		c.finished.Add(finishedPod{Pod: pod})
	}
}

func (c *Cache) remove(pod *corev1.Pod) {
	if c.Reader.ExtendedClaim(pod) != nil {
		c.finished.Add(finishedPod{Pod: pod, deleted: true})
	}
}

// releaseFinished processes the queue until the context of the cache ends.
func (c *Cache) releaseFinished() {
	defer context.AfterFunc(c.ctx, c.finished.ShutDown)()
	if !c.Reader.AwaitClaims(c.ctx) {
		return
	}
	for {
		pod, ended := c.finished.Get()
		if ended {
			return
		}
		release := c.writer.ReleaseFinished
		if pod.deleted {
			release = c.writer.ReleaseGone
		}
		if err := release(c.ctx, pod.Pod); err != nil && c.ctx.Err() == nil {
			klog.ErrorS(err, "Failed to delete the claim for extended resources of a pod that has finished", "pod", klog.KObj(pod.Pod))
			c.finished.AddRateLimited(pod)
		} else {
			c.finished.Forget(pod)
		}
		c.finished.Done(pod)
	}
}
