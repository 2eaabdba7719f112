// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestNamesThatUsersMakeUpAreNotRemembered: each may be a card, and the next version of a job may have thousands of new ones.
func TestNamesThatUsersMakeUpAreNotRemembered(t *testing.T) {
	queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", Annotations: map[string]string{
		schedulingv1beta1.CardQuotaAnnotation: `{"X100": 8, "Y100": 8}`,
	}}}
	c := New()
	c.Begin(Inputs{Queues: []*schedulingv1beta1.Queue{queue}})
	requests := corev1.ResourceList{}
	for i := range 3 * maxMay {
		requests[corev1.ResourceName(fmt.Sprintf("vendor-%d.example.com/gpu", i))] = resource.MustParse("1")
	}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}}}
	w := &counting{Counter: c, template: &workload.Template{Pods: []workload.PodSet{{Count: 1, Template: template}}}}
	if err := w.addAll(framework.Spread{Copies: 1}); err != nil {
		t.Fatal(err)
	}
	if len(c.may) > maxMay || len(w.notices) != maxNotices {
		t.Errorf("%d resources are remembered, and %d notices are for people", len(c.may), len(w.notices))
	}
}
