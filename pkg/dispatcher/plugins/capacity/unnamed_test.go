// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// limitsMemory makes a queue limit the memory of a DeviceClass.
func limitsMemory(name, class string) thing {
	return func(s *scene) {
		for _, q := range s.queues {
			if q.Name == name {
				q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{
					class: {Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse("80Gi")}},
				}}
			}
		}
	}
}

// TestACapacityThatAClaimDoesNotNameMattersWhereItIsLimited: the quota of one queue must not hold workloads of other queues.
func TestACapacityThatAClaimDoesNotNameMattersWhereItIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		limited string
		want    string
	}{
		"in its queue":             {"team", "Queue <team> limits capacity memory of DeviceClass h100, and a claim of the workload asks for devices of the class without saying how much of it: write capacity.requests[memory] into its request"},
		"in a queue above":         {"org", "Queue <org> limits capacity memory of DeviceClass h100, and a claim of the workload asks for devices of the class without saying how much of it: write capacity.requests[memory] into its request"},
		"in a queue of other jobs": {"other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(queue("org"), queue("team", "parent=org"), queue("other"), limitsMemory(c.limited, "h100"), job("w", "team", 1))
			_, p := s.open(t)
			w := s.workload("w")
			o, known := p.session.Dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"})
			if !known {
				t.Fatal("no queue limits the capacity")
			}
			w.Needs.Unnamed = []ledger.Ordinal{o}
			got := framework.Refusal{}
			if refusal := p.allocatable(w); refusal != nil {
				got = *refusal
			}
			if got.Message != c.want || (got.Reason == "CannotCount") != (c.want != "") {
				t.Errorf("refused with %s %q, want %q", got.Reason, got.Message, c.want)
			}
		})
	}
}
