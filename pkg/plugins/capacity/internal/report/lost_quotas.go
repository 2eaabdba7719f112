// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/metric"
)

// Reasons of events on queues.
const (
	// QuotaRestoredReason says that the scheduler has restored spec.dra.
	QuotaRestoredReason = "QuotaRestored"
)

// quotaFieldServed has no value until the first answer of the API server.
var quotaFieldServed = gaugeVector(metric.QuotaFieldServed)

// QuotaFieldServed publishes whether the API server serves spec.dra of queues.
func QuotaFieldServed(served bool) {
	value := 0.0
	if served {
		value = 1
	}
	quotaFieldServed.WithLabelValues().Set(value)
}

// QuotaRestored writes an event on a queue whose spec.dra has been restored.
func QuotaRestored(recorder record.EventRecorder, queue *schedulingv1beta1.Queue) {
	recorder.Event(queueReference(queue.Name, queue.UID), corev1.EventTypeNormal, QuotaRestoredReason,
		"The scheduler restored the queue's spec.dra, which was lost while the Queue CRD in the cluster did not have the field")
}
