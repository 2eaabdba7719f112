// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"encoding/json"
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestDevices(t *testing.T) {
	type quotas = schedulingv1beta1.DeviceQuotas
	for _, c := range []struct {
		name                            string
		dra                             *schedulingv1beta1.DRAQuota
		capability, deserved, guarantee string
		wantErr                         string
	}{
		{name: "no dra limits nothing"},
		{name: "an empty dra limits nothing", dra: &schedulingv1beta1.DRAQuota{}},
		{
			name:       "every class that is listed, zero included",
			dra:        &schedulingv1beta1.DRAQuota{Capability: quotas{"h100": {Count: 8}, "a100": {Count: 0}, "b200": {Count: math.MaxInt64}}},
			capability: "a100=0 b200=9223372036854775807 h100=8",
		},
		{
			name:       "all three limits",
			dra:        &schedulingv1beta1.DRAQuota{Capability: quotas{"h100": {Count: 8}}, Deserved: quotas{"h100": {Count: 4}}, Guarantee: quotas{"h100": {Count: 2}}},
			capability: "h100=8", deserved: "h100=4", guarantee: "h100=2",
		},
		{
			name:    "a negative capability",
			dra:     &schedulingv1beta1.DRAQuota{Capability: quotas{"h100": {Count: -1}}},
			wantErr: "its spec.dra.capability[h100].count is -1: set it to zero or more",
		},
		{
			name:    "a negative guarantee",
			dra:     &schedulingv1beta1.DRAQuota{Guarantee: quotas{"h100": {Count: -2}}},
			wantErr: "its spec.dra.guarantee[h100].count is -2: set it to zero or more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			got, err := Devices(&schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{DRA: c.dra}}, &dimensions)
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			for _, list := range []struct {
				got  ledger.Amounts
				want string
			}{{got.Capability, c.capability}, {got.Deserved, c.deserved}, {got.Guarantee, c.guarantee}} {
				if text := asText(&dimensions, list.got); text != list.want {
					t.Errorf("got %q, want %q", text, list.want)
				}
			}
		})
	}
}

func TestCapacityOfDevices(t *testing.T) {
	of := func(name, quantity string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{DRA: &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{
			"hami": {Count: 80, Capacity: schedulingv1beta1.DeviceCapacities{name: resource.MustParse(quantity)}},
		}}}}
	}
	for _, c := range []struct{ name, quantity, want string }{
		{"memory", "80Gi", "80GiB"}, {"memory", "0", "0"}, {"cores", "800", "800"}, {"cores", "1m", "0.001"}, {"driver.example.com/cores", "12E", "12000000000000000000"},
	} {
		var dimensions ledger.Dimensions
		limits, err := Devices(of(c.name, c.quantity), &dimensions)
		if err != nil {
			t.Fatal(err)
		}
		d := ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "hami", Capacity: c.name}
		o, found := dimensions.Known(d)
		if got := d.Format(limits.Capability.Of(o)); !found || got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.quantity, c.name, got, c.want)
		}
	}
	for quantity, want := range map[string]string{
		"-1Gi":           "its spec.dra.capability[hami].capacity[memory] is -1Gi: set it to zero or more, and to less than 1e29",
		"1000000000000E": "its spec.dra.capability[hami].capacity[memory] is 1e30: set it to zero or more, and to less than 1e29",
		"1e40":           "its spec.dra.capability[hami].capacity[memory] is 10e39: set it to zero or more, and to less than 1e29",
	} {
		if _, err := Devices(of("memory", quantity), &ledger.Dimensions{}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", quantity, err, want)
		}
	}
}

func TestTheTextOfAnExactQuantityIsTheSameQuantity(t *testing.T) {
	for written, want := range map[string]string{
		"0": "0", "1n": "1n", "100m": "100m", "1.5": "1500m", "4Gi": "4Gi", "9E": "9E", "8Ei": "9223372036854775807", "9223372036854775808": "9223372036854775808",
		"10E": "10E", "1e19": "10e18", "999E": "999E", "1000E": "1e21", "1e21": "1e21", "1500E": "1500E", "100000000000000000000000": "100e21", "-1000E": "-1e21",
		"123456789012345678901234": "123456789012345678901234",
	} {
		quantity := resource.MustParse(written)
		data, err := json.Marshal(Exact(quantity))
		if err != nil {
			t.Fatal(err)
		}
		var read resource.Quantity
		if err := json.Unmarshal(data, &read); err != nil || read.Cmp(quantity) != 0 {
			t.Errorf("%s is read as %s, %v", written, read.AsDec(), err)
		}
		if got := text(quantity); got != want {
			t.Errorf("the text of %s is %s, want %s", written, got, want)
		}
	}
}
