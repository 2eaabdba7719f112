package quota

import (
	"math"
	"testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func queue(capability schedulingv1beta1.DeviceQuotas) *schedulingv1beta1.Queue {
	return &schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{DRA: &schedulingv1beta1.DRAQuota{Capability: capability}}}
}

func TestCapability(t *testing.T) {
	for _, c := range []struct {
		name    string
		queue   *schedulingv1beta1.Queue
		want    map[string]int64
		wantErr string
	}{
		{name: "no dra limits nothing", queue: &schedulingv1beta1.Queue{}},
		{name: "dra without a capability limits nothing", queue: queue(nil)},
		{
			name:  "every class that is listed, zero included",
			queue: queue(schedulingv1beta1.DeviceQuotas{"h100": {Count: 8}, "a100": {Count: 0}, "b200": {Count: math.MaxInt64}}),
			want:  map[string]int64{"h100": 8, "a100": 0, "b200": math.MaxInt64},
		},
		{
			name:    "a negative count",
			queue:   queue(schedulingv1beta1.DeviceQuotas{"h100": {Count: -1}}),
			wantErr: "its spec.dra.capability[h100].count is -1: set it to zero or more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			got, err := Capability(c.queue, &dimensions)
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d limits, want %d", len(got), len(c.want))
			}
			for _, e := range got {
				d := dimensions.Dimension(e.Dimension)
				if want, listed := c.want[d.Name]; !listed || d.Kind != ledger.DeviceCount || e.Amount != ledger.Units(want) {
					t.Errorf("%v is limited to %s, want %d", d, e.Amount, want)
				}
			}
		})
	}
}
