package quota

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestDevices(t *testing.T) {
	type quotas = schedulingv1beta1.DeviceQuotas
	for _, c := range []struct {
		name                            string
		dra                             *schedulingv1beta1.DRAQuota
		capability, deserved, guarantee map[string]int64
		wantErr                         string
	}{
		{name: "no dra limits nothing"},
		{name: "an empty dra limits nothing", dra: &schedulingv1beta1.DRAQuota{}},
		{
			name:       "every class that is listed, zero included",
			dra:        &schedulingv1beta1.DRAQuota{Capability: quotas{"h100": {Count: 8}, "a100": {Count: 0}, "b200": {Count: math.MaxInt64}}},
			capability: map[string]int64{"h100": 8, "a100": 0, "b200": math.MaxInt64},
		},
		{
			name:       "all three limits",
			dra:        &schedulingv1beta1.DRAQuota{Capability: quotas{"h100": {Count: 8}}, Deserved: quotas{"h100": {Count: 4}}, Guarantee: quotas{"h100": {Count: 2}}},
			capability: map[string]int64{"h100": 8}, deserved: map[string]int64{"h100": 4}, guarantee: map[string]int64{"h100": 2},
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
			compare(t, "capability", &dimensions, got.Capability, c.capability)
			compare(t, "deserved", &dimensions, got.Deserved, c.deserved)
			compare(t, "guarantee", &dimensions, got.Guarantee, c.guarantee)
		})
	}
}

func compare(t *testing.T, what string, dimensions *ledger.Dimensions, got ledger.Amounts, want map[string]int64) {
	t.Helper()
	classes, wanted := map[string]string{}, map[string]string{}
	for _, e := range got {
		if d := dimensions.Dimension(e.Dimension); d.Kind == ledger.DeviceCount {
			classes[d.Name] = e.Amount.String()
		}
	}
	for class, n := range want {
		wanted[class] = ledger.Units(n).String()
	}
	if diff := cmp.Diff(wanted, classes); diff != "" || len(got) != len(want) {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
