// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/apis/pkg/apis/scheduling"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
)

// keyed lists a device quota in the form of Volcano 1.15.
func keyed(key, quantity string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(queue *scheduling.Queue, object *schedulingv1beta1.Queue) {
		for _, list := range []*corev1.ResourceList{&queue.Spec.Capability, &object.Spec.Capability} {
			all := corev1.ResourceList{corev1.ResourceName(key): resource.MustParse(quantity)}
			for name, value := range *list {
				all[name] = value
			}
			*list = all
		}
	}
}

func TestKeysOfVolcanoAreQuotasOfDevicesAndNoResources(t *testing.T) {
	f := newFixture(t)
	f.queue("leaf", "root", keyed("deviceclass/h100", "3"))
	s := f.take()
	q, _ := s.Ledger.Queue("leaf")
	o, known := s.Dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
	if limit := s.Ledger.Capability(q, o); !known || !limit.Set || limit.Amount != ledger.Units(3) {
		t.Errorf("the limit of h100 is %v (%v)", limit, known)
	}
	if _, known := s.Dimensions.Known(ledger.Dimension{Kind: ledger.Resource, Name: "deviceclass/h100"}); known {
		t.Error("the key is a resource")
	}
}

func TestAQueueIsToldOfANumberInBothForms(t *testing.T) {
	f := newFixture(t)
	f.queue("leaf", "root", quotaOf("", 8), keyed("deviceclass/h100", "3"))
	s := f.take()
	const want = "The queue's spec.capability[deviceclass/h100] is <3>, but its spec.dra.capability[h100].count is <8>, which limits the same devices of class <h100>: the smaller number holds; remove one of them, or make them equal"
	if got := s.Problems[problems.Problem{Queue: "leaf", Reason: problems.ContradictoryDevicesReason}]; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
