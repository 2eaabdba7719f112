// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

func TestQuotaFieldServed(t *testing.T) {
	QuotaFieldServed(false)
	expectSeries(t, "the CRD lacks the field", "volcano_queue_quota_field_served", "", 0)
	QuotaFieldServed(true)
	expectSeries(t, "the CRD has the field", "volcano_queue_quota_field_served", "", 1)
}

func TestQuotaRestored(t *testing.T) {
	f := newFixture(t)
	QuotaRestored(f.Recorder, &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q"}})
	f.expectEvents("a queue", "Normal QuotaRestored The scheduler restored the queue's spec.dra, which was lost while the Queue CRD in the cluster did not have the field involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}")
}
