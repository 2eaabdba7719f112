// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/metric"
)

// Reasons of events on pods that run.
const (
	// ChargedToRootReason says that a pod is charged to root, because the queue that it came from is not known.
	ChargedToRootReason = "ChargedToRoot"
)

var unattributedPods = promauto.NewGauge(metric.UnattributedPods.GaugeOpts())

var unattributedClaims = promauto.NewGauge(metric.UnattributedClaims.GaugeOpts())

// Unattributed is a pod that is charged to root because its queue is unknown.
type Unattributed struct {
	Pod *corev1.Pod
	// Foreign says that another scheduler placed the pod.
	Foreign bool
}

func (u Unattributed) message() string {
	if u.Foreign {
		return "Scheduler " + u.Pod.Spec.SchedulerName + " placed the pod outside of all queues: its devices and cards are charged to queue <root>. To charge them to another queue, create the pod for Volcano with a queue"
	}
	return "Nobody knows which queue the pod came from, because its PodGroup or queue was deleted: it is charged to queue <root>. Delete the pod to give back what it holds"
}

// Unattributed writes an event on each pod that is newly charged to root. It counts these pods and claims.
func (r *Reporter) Unattributed(pods []Unattributed, claims int) {
	told := make(map[types.UID]bool, len(pods))
	for _, u := range pods {
		told[u.Pod.UID] = true
		if !r.notifiedUnattributed[u.Pod.UID] {
			klog.InfoS("A pod is charged to root, because nobody knows which queue it came from", "pod", klog.KObj(u.Pod))
			r.Recorder.Event(u.Pod, corev1.EventTypeWarning, ChargedToRootReason, u.message())
		}
	}
	r.notifiedUnattributed = told
	unattributedPods.Set(float64(len(pods)))
	unattributedClaims.Set(float64(claims))
}
