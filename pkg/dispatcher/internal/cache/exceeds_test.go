// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAnUpdateDoesNotBringWhatTheQueueLetsNobodyUse: no amount in the grant covers it.
func TestAnUpdateDoesNotBringWhatTheQueueLetsNobodyUse(t *testing.T) {
	limitsMemory := func(q *schedulingv1beta1.Queue) {
		q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{
			"h100": {Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse("80Gi")}},
		}}
	}
	listsCards := func(q *schedulingv1beta1.Queue) {
		q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: `{"NVIDIA-H20": 8}`}
	}
	npu := func(pods *corev1.PodTemplateSpec) {
		pods.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"huawei.com/Ascend910": resource.MustParse("1")}
	}
	claim := func(pods *corev1.PodTemplateSpec) {
		name := "one-h100"
		pods.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}}
	}
	for name, c := range map[string]struct {
		limited  string
		limits   func(*schedulingv1beta1.Queue)
		asks     func(*corev1.PodTemplateSpec)
		required bool
		want     string
	}{
		"a card that its queue does not list":         {"team", listsCards, npu, false, "it asks for huawei.com/Ascend910, which its queue does not list"},
		"a card that a queue above does not list":     {"org", listsCards, npu, false, "it asks for huawei.com/Ascend910, which its queue does not list"},
		"a card that another queue does not list":     {"other", listsCards, npu, false, ""},
		"a card where no queue lists one":             {"team", func(*schedulingv1beta1.Queue) {}, npu, true, "it asks for huawei.com/Ascend910, which its queue does not list"},
		"an unknown part of a capacity":               {"team", limitsMemory, claim, false, "a claim asks for devices of DeviceClass h100 without saying how much memory of it"},
		"an unknown part of a capacity limited above": {"org", limitsMemory, claim, false, "a claim asks for devices of DeviceClass h100 without saying how much memory of it"},
		"an unknown part of what others limit":        {"other", limitsMemory, claim, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			shown := newFake(t)
			shown.CardQuotaRequired = c.required
			queues := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
			shown.queues = queuelisters.NewQueueLister(queues)
			template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one-h100"}}
			template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			}}}
			class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}}
			add(t, shown, "ResourceClaimTemplate", template)
			add(t, shown, "DeviceClass", class)
			for queue, parent := range map[string]string{"org": "", "team": "org", "other": ""} {
				q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: queue}}
				q.Spec.Parent = parent
				if queue == c.limited {
					c.limits(q)
				}
				if err := queues.Add(q); err != nil {
					t.Fatal(err)
				}
			}
			pods := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
			c.asks(pods)
			rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", Annotations: map[string]string{
				binding.GrantAnnotation: `{"queue":"team","amounts":[{"kind":"Resource","name":"pods","amount":"1"},{"kind":"DeviceCount","name":"h100","amount":"1"}]}`,
			}}}
			amounts, err := shown.OfWorkloads.Exceeds(&workload.Template{Kind: "Job", Namespace: "ns", Name: "w", Pods: []workload.PodSet{{Count: 1, Minimum: 1, Template: pods}}}, rb)
			if got := errorText(err); len(amounts) > 0 || !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("the workload needs %v more, error %q, want error %q", amounts, got, c.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// add adds an object of an optional kind to the cache.
func add(t *testing.T, c *Cache, kind string, object any) {
	t.Helper()
	for _, o := range c.optional {
		if o.gvk.Kind == kind {
			if err := o.informer.GetStore().Add(object); err != nil {
				t.Fatal(err)
			}
		}
	}
}
