// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	ourv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
)

// TestNobodyJoinsAnExtendedClaim: users who may create pods in a namespace can name the claim for another pod's extended resources. That
// pod's queue would be charged for both the resources and the devices.
func TestNobodyJoinsAnExtendedClaim(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("other", "root", nil).withDevices(nil).offered(4, "n1")
	runs := s.holdingExtended(t, 2, chargerecord.OnPod(newPod("runs", "n1", gpu(2)), "root/q", ""))
	claim := s.ResourceClaims[0]
	chargerecord.SetClaims(runs, s.ResourceClaims)
	joins := newPod("joins", "", nil)
	joins.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: ptr.To(claim.Name)}}
	s.job("j", "q", running, nil, runs).job("k", "other", inqueue, nil, joins)
	expectStatuses(t, s.act(t), "joins:Pending runs:Running")
}

// holdingExtended makes a running pod hold the first devices of its node for nvidia.com/gpu.
func (s *fixture) holdingExtended(t *testing.T, devices int, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	claim, err := dra.ExtendedClaim(p, []corev1.ResourceName{"nvidia.com/gpu"}, func(corev1.ResourceName) string { return h100 })
	must(t, err)
	claim.Name, claim.UID, claim.ResourceVersion = p.Name+"-extended", p.UID+"-extended", "1"
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	for i := range devices {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: claim.Spec.Devices.Requests[0].Name, Driver: "driver", Pool: p.Spec.NodeName, Device: fmt.Sprint("gpu-", i),
		})
	}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim.Name, RequestMappings: dra.RequestMappings(p, claim)}
	s.ResourceClaims = append(s.ResourceClaims, claim)
	return p
}

// TestAPodThatIsDeletedKeepsItsExtendedResources: it runs for its terminationGracePeriodSeconds, which its owner chooses.
func TestAPodThatIsDeletedKeepsItsExtendedResources(t *testing.T) {
	for limit, want := range map[int]string{2: "leaving:Releasing next:Pipelined", 4: "leaving:Releasing next:Binding"} {
		s := newFixture(8).queue("root", "", nil).queue("q", "root", func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = gpu(limit) })
		s.withDevices(nil).offered(4, "n1")
		leaving := s.holdingExtended(t, 2, newPod("leaving", "n1", gpu(2)))
		leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		s.job("i", "q", running, nil, leaving).job("j", "q", inqueue, nil, newPod("next", "", gpu(2)))
		expectStatuses(t, s.act(t), want)
	}
}

// TestAPodWithARecordOfItsExtendedClaimHasNoCardsBesides: another controller has removed the reservation, and the node has got a device
// plugin since.
func TestAPodWithARecordOfItsExtendedClaimHasNoCardsBesides(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"H100": 4}`}).model(1, "H100")
	s.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: h100, Annotations: map[string]string{"volcano.sh/card.name": "H100"}}}}
	s.offered(4, "n2")
	runs := s.holdingExtended(t, 2, chargerecord.OnPod(newPod("runs", "n1", gpu(2)), "root/q", ""))
	claim := s.ResourceClaims[0]
	chargerecord.SetClaims(runs, s.ResourceClaims)
	claim.Status.ReservedFor = nil
	s.job("j", "q", running, nil, runs)
	if got, want := used(pluginOf(s.open(t)), "q"), "nvidia.com/gpu=2 h100=2 H100=2"; got != want {
		t.Errorf("the queue has %s, want %s", got, want)
	}
}

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
			expectPlace(t, ssn, node, "Queue <q> has insufficient <nvidia.com/gpu> quota: requested <1>, total would be <1>, but capability is <0>")
		})
	}
}
