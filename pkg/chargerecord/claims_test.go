// SPDX-License-Identifier: Apache-2.0

package chargerecord

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestARecordOfClaimsHasNothingOfWhatUsersMakeLong: a pod whose record exceeds what annotations may have is never bound.
func TestARecordOfClaimsHasNothingOfWhatUsersMakeLong(t *testing.T) {
	capacity := &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	for i := range 10_000 {
		capacity.Requests[resourceapi.QualifiedName(fmt.Sprint("c", i))] = resource.MustParse("1")
	}
	tolerations := make([]resourceapi.DeviceToleration, 16)
	for i := range tolerations {
		tolerations[i] = resourceapi.DeviceToleration{Key: strings.Repeat("k", 300), Value: strings.Repeat("v", 63)}
	}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c-uid"}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{
		{Name: "one", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "h100", Capacity: capacity, Tolerations: tolerations}},
		{Name: "some", FirstAvailable: []resourceapi.DeviceSubRequest{
			{Name: "first", DeviceClassName: "h200", Capacity: capacity}, {Name: "second", DeviceClassName: "a100", Capacity: capacity}}},
	}
	claim.Status.Allocation = &resourceapi.AllocationResult{}
	for _, request := range []string{"one", "some/second"} {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: request, Driver: "gpu.example.com", Pool: "n", Device: request, Tolerations: tolerations})
	}
	pod := OnPod(&corev1.Pod{}, "root/team", "")
	SetClaims(pod, []*resourceapi.ResourceClaim{claim})
	if size := len(pod.Annotations[ClaimsAnnotation]); size > 1000 {
		t.Errorf("the record has %d bytes", size)
	}
	requests := ClaimsOf(pod)[0].Spec.Devices.Requests
	if requests[0].Exactly.DeviceClassName != "h100" || len(requests[1].FirstAvailable) != 1 || requests[1].FirstAvailable[0].DeviceClassName != "a100" {
		t.Errorf("the record has the requests %v", requests)
	}
	if claim.Status.Allocation.Devices.Results[0].Tolerations == nil {
		t.Error("the claim itself has changed")
	}
}
