// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"volcano.sh/apis/pkg/apis/scheduling"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/problems"
)

// withDevices sets the device quota of a queue.
func withDevices(quota schedulingv1beta1.DRAQuota) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) { object.Spec.DRA = &quota }
}

func TestTheClassesThatQueuesListAreLimited(t *testing.T) {
	f := newFixture(t)
	list := func(class string) schedulingv1beta1.DeviceQuotas {
		return schedulingv1beta1.DeviceQuotas{class: {Count: 1}}
	}
	f.queue("a", "root", withDevices(schedulingv1beta1.DRAQuota{Capability: list("h100"), Deserved: list("h100"), Guarantee: list("h100")}))
	f.queue("b", "root", withDevices(schedulingv1beta1.DRAQuota{Deserved: list("a100")}))
	f.input.Overlaps = dra.Overlaps{"h100": {"gpu"}, "b200": {"gpu"}}
	s := f.cache.Take(f.input)
	if got, want := s.LimitedClasses(), []string{"a100", "h100"}; !slices.Equal(got, want) {
		t.Errorf("limited classes are %v, want %v", got, want)
	}
	told := s.Problems[problems.Problem{Queue: "a", Reason: problems.ClassesOverlapReason}]
	if len(s.Problems) != 1 || strings.Count(told, "devices of class h100 belong to gpu, too") != 1 {
		t.Errorf("problems are %v", s.Problems)
	}
}

func TestAQueueIsToldThatAClassWhichItLimitsCannotBeEvaluated(t *testing.T) {
	f := newFixture(t)
	broken := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	broken.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: "device."}}}
	f.input.Catalog, f.input.Matcher = dra.NewCatalog([]*resourceapi.DeviceClass{broken}, nil), dra.NewMatcher(cel.NewCache(1, cel.Features{}))
	f.queue("a", "root", withDevices(schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"broken": {Count: 1}}}))
	f.cache.Take(f.input)
	s := f.cache.Take(f.input)
	if told := s.Problems[problems.Problem{Queue: "a", Reason: problems.InvalidDeviceClassReason}]; !strings.Contains(told, "The queue limits class broken") {
		t.Errorf("problems are %v", s.Problems)
	}
}
