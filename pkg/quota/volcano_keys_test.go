// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// resources makes a list from words such as deviceclass/h100=8.
func resources(words string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for word := range strings.FieldsSeq(words) {
		i := strings.LastIndex(word, "=")
		list[corev1.ResourceName(word[:i])] = resource.MustParse(word[i+1:])
	}
	return list
}

func asText(dimensions *ledger.Dimensions, amounts ledger.Amounts) string {
	var all []string
	for _, e := range amounts {
		d := dimensions.Dimension(e.Dimension)
		all = append(all, d.String()+"="+d.Format(e.Amount))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestKeysOfVolcanoLimitDevices(t *testing.T) {
	for _, c := range []struct{ name, keys, want, wantErr string }{
		{name: "other resources", keys: "cpu=4 nvidia.com/gpu=8"},
		{name: "devices and capacities", keys: "cpu=4 deviceclass/h100=8 memory.deviceclass/h100=640Gi deviceclass/gpu.nvidia.com=0",
			want: "gpu.nvidia.com=0 h100/memory=640GiB h100=8"},
		{name: "a capacity with a domain", keys: "gpu.example.com/memory.deviceclass/h100=80Gi", want: "h100/gpu.example.com/memory=80GiB"},
		{name: "no class", keys: "deviceclass/=8", wantErr: "its spec.capability[deviceclass/] names no DeviceClass: write deviceclass/<class> or <capacity>.deviceclass/<class>, or remove it"},
		{name: "a capacity of no class", keys: "memory.deviceclass/=8Gi", wantErr: "its spec.capability[memory.deviceclass/] names no DeviceClass"},
		{name: "no capacity", keys: ".deviceclass/h100=8Gi", wantErr: "its spec.capability[.deviceclass/h100] names no capacity"},
		{name: "a class with a slash", keys: "deviceclass/a/b=8", wantErr: "names no DeviceClass"},
		{name: "negative", keys: "deviceclass/h100=-1", wantErr: "its spec.capability[deviceclass/h100] is -1: set it to a whole number of devices, zero or more"},
		{name: "a part of a device", keys: "deviceclass/h100=1500m", wantErr: "its spec.capability[deviceclass/h100] is 1500m: set it to a whole number of devices, zero or more"},
		{name: "more devices than fit", keys: "deviceclass/h100=1e19", wantErr: "set it to a whole number of devices"},
		{name: "a negative capacity", keys: "memory.deviceclass/h100=-1Gi", wantErr: "its spec.capability[memory.deviceclass/h100] is -1Gi: set it to zero or more, and to less than 1e29"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			queue := &schedulingv1beta1.Queue{}
			queue.Spec.Capability = resources(c.keys)
			limits, err := Devices(queue, &dimensions)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want %s", err, c.wantErr)
				}
				return
			}
			if got := asText(&dimensions, limits.Capability); err != nil || got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
			for name := range Resources(queue.Spec.Capability) {
				if isDeviceKey(name) {
					t.Errorf("%s is a resource", name)
				}
			}
		})
	}
}

func TestOfBothFormsTheSmallerLimitHolds(t *testing.T) {
	type quotas = schedulingv1beta1.DeviceQuotas
	dra := func(n int64) quotas {
		return quotas{"h100": {Count: n, Capacity: schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse("80Gi")}}}
	}
	queue := &schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{
		DRA: &schedulingv1beta1.DRAQuota{Capability: dra(8), Deserved: dra(4), Guarantee: dra(2)},
	}}
	queue.Spec.Capability = resources("deviceclass/h100=6 memory.deviceclass/h100=100Gi deviceclass/a100=1")
	queue.Spec.Deserved, queue.Spec.Guarantee.Resource = resources("deviceclass/h100=5"), resources("deviceclass/h100=1")
	var dimensions ledger.Dimensions
	limits, err := Devices(queue, &dimensions)
	for _, c := range []struct {
		got  ledger.Amounts
		want string
	}{
		{limits.Capability, "a100=1 h100/memory=80GiB h100=6"}, {limits.Deserved, "h100/memory=80GiB h100=4"}, {limits.Guarantee, "h100/memory=80GiB h100=1"},
	} {
		if got := asText(&dimensions, c.got); err != nil || got != c.want {
			t.Errorf("got %s (%v), want %s", got, err, c.want)
		}
	}
}

func TestWhatIsListedTwice(t *testing.T) {
	for _, c := range []struct {
		name, keys, inField string
		several             bool
		want                string
	}{
		{name: "the same number", keys: "deviceclass/h100=8"},
		{name: "another number", keys: "deviceclass/h100=6", want: "spec.capability[deviceclass/h100] 6, spec.dra.capability[h100].count 8"},
		{name: "another class", keys: "deviceclass/a100=6"},
		{name: "a capacity in another spelling", keys: "memory.deviceclass/h100=6", inField: "a/memory", want: "spec.capability[memory.deviceclass/h100] 6, spec.dra.capability[h100].capacity[a/memory] 8"},
		{name: "the same number in another spelling", keys: "memory.deviceclass/h100=8", inField: "a/memory"},
		{name: "a capacity of another driver", keys: "b/memory.deviceclass/h100=6", inField: "a/memory"},
		{name: "a capacity of one of several drivers", keys: "memory.deviceclass/h100=6", inField: "a/memory", several: true},
	} {
		quota := schedulingv1beta1.DeviceQuota{Count: 8}
		if c.inField != "" {
			quota.Capacity = schedulingv1beta1.DeviceCapacities{c.inField: resource.MustParse("8")}
		}
		queue := &schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{
			DRA: &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": quota}},
		}}
		queue.Spec.Capability = resources(c.keys)
		got := ""
		for _, twice := range DevicesListedTwice(queue, &ledger.Dimensions{}, func(string) bool { return c.several }) {
			got += twice.Field + " " + twice.Number.String() + ", " + twice.Other + " " + twice.OtherNumber.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
