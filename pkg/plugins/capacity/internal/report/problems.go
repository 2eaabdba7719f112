// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/problems"
)

var problemQueues = gaugeVector(metric.QueueProblems)

// Problems writes an event on each queue that has a new problem, and counts the queues.
func (r *Reporter) Problems(found problems.Problems, queues map[api.QueueID]*api.QueueInfo) {
	counts := map[string]int{}
	for _, reason := range problems.QueueReasons {
		counts[reason] = 0
	}
	for problem, message := range found {
		if !problem.Harmless {
			counts[problem.Reason]++
		}
		if r.notifiedQueues[problem] == message {
			continue
		}
		eventType := corev1.EventTypeWarning
		if problem.Harmless {
			eventType = corev1.EventTypeNormal
			klog.InfoS("A queue is told something", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		} else {
			klog.ErrorS(nil, "A queue has a problem", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		}
		if info, found := queues[api.QueueID(problem.Queue)]; found {
			r.Recorder.Event(queueReference(info.Queue.Name, info.Queue.UID), eventType, problem.Reason, message)
		}
	}
	r.notifiedQueues = found
	for reason, n := range counts {
		problemQueues.WithLabelValues(reason).Set(float64(n))
	}
}

func queueReference(name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Queue", Name: name, UID: uid}
}
