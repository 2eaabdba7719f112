// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"
)

// Reasons of events on pods that run.
const (
	// evictReason says that Volcano evicts the pod, and why. It is upstream's.
	evictReason = "Evict"
)

// evictor evicts pods with the event and the conditions of Volcano's evictor. Volcano's evictor deletes any pod with the name. It does not retry a
// failed deletion, because the pod has the conditions already. It does not limit how long a pod takes to end.
type evictor struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	// longest returns the longest time that a pod may take to end, or 0 if there is no limit.
	longest func() time.Duration
	// failed is called for pods that are not evicted.
	failed func(*corev1.Pod)
}

// Evict implements cache.Evictor. Neither the conditions nor the deletion depend on the version of the pod. The pod is deleted even if the
// conditions cannot be written. Otherwise, a user could keep a pod by changing it all the time, while other pods are evicted for nothing.
func (e *evictor) Evict(pod *corev1.Pod, reason string) error {
	message := fmt.Sprintf("Pod is evicted, because of %v", reason)
	e.recorder.Event(pod, corev1.EventTypeWarning, evictReason, message)
	if err := e.writeConditions(pod, message); err != nil {
		klog.ErrorS(err, "Failed to write that a pod is evicted", "pod", klog.KObj(pod))
	}
	err := e.client.CoreV1().Pods(pod.Namespace).Delete(context.TODO(), pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)), GracePeriodSeconds: ptr.To(e.gracePeriod(pod)),
	})
	if err != nil {
		e.failed(pod)
		return fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// writeConditions writes the conditions of an eviction to the status of a pod, unless the status has them.
func (e *evictor) writeConditions(pod *corev1.Pod, message string) error {
	status := pod.Status.DeepCopy()
	var changed []corev1.PodCondition
	for _, condition := range []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: evictReason, Message: message},
		{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
			Message: pod.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
		},
	} {
		if podutil.UpdatePodCondition(status, &condition) {
			changed = append(changed, condition)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	// The API server refuses the patch if another pod of the same name has replaced this one.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": changed}})
	if err != nil {
		return err
	}
	_, err = e.client.CoreV1().Pods(pod.Namespace).Patch(context.TODO(), pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
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

// longestEnd returns the longest time that an evicted pod may take to end, or 0 without the plugin that reserves freed amounts. It is shorter
// than the reservation, to leave time for the node and the controllers of Kubernetes.
func (c *configuration) longestEnd() time.Duration {
	given, used := c.capacity()
	if !used {
		return 0
	}
	return given.ReservationTimeout - min(time.Minute, given.ReservationTimeout/2)
}
