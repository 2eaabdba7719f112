// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/settings"
)

// Reasons of events on pods that run.
const (
	// evictReason says that Volcano evicts the pod, and why. It is upstream's.
	evictReason = "Evict"
)

// evictor evicts pods with the event and the conditions that Volcano's evictor writes. Volcano's deletes whichever pod has the name by then,
// deletes no pod that has the conditions already, because the deletion failed before, and leaves it to the pod how long it takes to end.
type evictor struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	// longest returns the longest time that a pod may take to end, 0 if there is none.
	longest func() time.Duration
}

// Evict implements cache.Evictor. The status is not written if the pod has changed since the scheduler decided: the pod stays then.
func (e *evictor) Evict(pod *corev1.Pod, reason string) error {
	message := fmt.Sprintf("Pod is evicted, because of %v", reason)
	e.recorder.Event(pod, corev1.EventTypeWarning, evictReason, message)
	pod = pod.DeepCopy()
	notReady := podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: evictReason, Message: message,
	})
	target := podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message: pod.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
	})
	pods := e.client.CoreV1().Pods(pod.Namespace)
	if notReady || target {
		if _, err := pods.UpdateStatus(context.TODO(), pod, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("write that pod %s/%s is evicted: %w", pod.Namespace, pod.Name, err)
		}
	}
	err := pods.Delete(context.TODO(), pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)), GracePeriodSeconds: ptr.To(e.gracePeriod(pod)),
	})
	if err != nil {
		return fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// gracePeriod returns how many seconds a pod gets to end. With 0, the API server would forget the pod before its node has ended it, and
// others would get its devices while it runs.
func (e *evictor) gracePeriod(pod *corev1.Pod) int64 {
	own := max(1, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))
	if longest := e.longest(); longest > 0 {
		return min(own, max(1, int64(longest.Seconds())))
	}
	return own
}

// longestEnd returns the longest time that an evicted pod may take to end, 0 if the plugin is not configured that keeps for others what
// is freed: so much less than it does that the node and the controllers of Kubernetes have time to free it.
func (c *configuration) longestEnd() time.Duration {
	for _, tier := range c.tiers {
		for _, plugin := range tier.Plugins {
			if plugin.Name == settings.Name || plugin.Name == settings.CardName {
				given, _ := settings.Read(plugin.Name, plugin.Arguments)
				return given.ReservationTimeout - min(time.Minute, given.ReservationTimeout/2)
			}
		}
	}
	return 0
}
