// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	ourv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestSmallerDevicesAreFoundForAnExtendedResourceAndAClaim: the devices of the claim count for the extended resource. The devices for the
// pod's own request do not count again. A search that confuses the two finds no room.
func TestSmallerDevicesAreFoundForAnExtendedResourceAndAClaim(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = gpu(2) })
	limit := ourv1beta1.DeviceQuotas{h100: {Count: 2, Capacity: map[string]resource.Quantity{"memory": resource.MustParse("160Gi")}}}
	s.withDevices(map[string]ourv1beta1.DRAQuota{"q": {Capability: limit}}).offered(4, "n1")
	devices := s.ResourceSlices[0].Spec.Devices
	for i, memory := range []string{"141Gi", "141Gi", "80Gi", "80Gi"} {
		devices[i].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}
	}
	pod := s.claimed(1, newPod("a", "", gpu(1)))
	s.job("j", "q", inqueue, nil, pod)
	ssn := s.open(t)
	if err := try(ssn, "a", "n1"); err != nil {
		t.Fatalf("the pod fits with the two smaller devices: %v", err)
	}
	if got := used(pluginOf(ssn), "q"); got != "nvidia.com/gpu=2 h100=2" {
		t.Errorf("the queue has %s", got)
	}
}

// TestAnotherClassIsNoWayRoundTheQuotaOfAnExtendedResource: class gpu offers the resource, and h100 has the same device.
func TestAnotherClassIsNoWayRoundTheQuotaOfAnExtendedResource(t *testing.T) {
	for accounting, node := range map[string]string{"requested": "n1", "matching": ""} {
		t.Run(accounting, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = gpu(0) })
			s.withModels(accounting, nil, map[string]string{"n1": h100})
			s.DeviceClasses[0].Spec.ExtendedResourceName = ptr.To("nvidia.com/gpu")
			s.job("j", "q", inqueue, nil, s.asking(h100, "", newPod("p", "", cpu(1))))
			ssn := s.act(t)
			if got := taskOf(ssn, "p").NodeName; got != node {
				t.Errorf("the pod is on node %q, want %q: %s", got, node, whyNot(ssn, "p"))
			}
			if why := whyNot(ssn, "p"); node == "" && !strings.Contains(why, "Queue <q> has insufficient <nvidia.com/gpu> quota: requested <1>, total would be <1>, but capability is <0>") {
				t.Errorf("the pod waits because %s", why)
			}
		})
	}
}
