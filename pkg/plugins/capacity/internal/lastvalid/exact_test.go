// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

func TestAQuotaOfAnySizeIsRecordedAndRestoredExactly(t *testing.T) {
	for _, written := range []string{"0", "1n", "100m", "1.5", "9E", "8Ei", "9223372036854775808", "1e19", "10E", "1e21", "1000E", "100000000000000000000000", "1e28"} {
		want := resource.MustParse(written)
		capacity := func() schedulingv1beta1.DeviceQuotas {
			return schedulingv1beta1.DeviceQuotas{"h100": {Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": want.DeepCopy()}}}
		}
		f := newFixture(t)
		f.edit(func(q *schedulingv1beta1.Queue) {
			q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: capacity(), Deserved: capacity(), Guarantee: capacity()}
			q.Spec.Capability = corev1.ResourceList{"memory.deviceclass/a100": want.DeepCopy()}
		})
		f.settle()
		last, err := readLastValid(f.stored().Annotations[schedulingv1beta1.LastValidQuotaAnnotation])
		if err != nil || last.DRA == nil || last.Keys == nil {
			t.Fatalf("%s: %+v, %v", written, last, err)
		}
		key := last.Keys.Capability["memory.deviceclass/a100"]
		if key.Cmp(want) != 0 {
			t.Errorf("%s in a key is recorded as %s", written, key.AsDec())
		}
		f.expectExact("recorded", last.DRA, want)
		f.stock = true
		f.settle()
		f.writeStatus() // the CRD without spec.dra drops it
		f.restart()
		f.settle()
		f.repair()
		f.expectExact("restored", f.stored().Spec.DRA, want)
	}
}

func (f *fixture) expectExact(step string, dra *schedulingv1beta1.DRAQuota, want resource.Quantity) {
	f.Helper()
	if dra == nil {
		f.Fatalf("%s is not %s", &want, step)
	}
	for _, quotas := range []schedulingv1beta1.DeviceQuotas{dra.Capability, dra.Deserved, dra.Guarantee} {
		if got := quotas["h100"].Capacity["memory"]; got.Cmp(want) != 0 {
			f.Errorf("%s is %s as %s", want.AsDec(), step, got.AsDec())
		}
	}
}
