// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestTheRecordOfAPodTellsWhatItsExtendedClaimStandsFor: otherwise, the pod would be charged for its request and for the devices of a claim that was deleted.
func TestTheRecordOfAPodTellsWhatItsExtendedClaimStandsFor(t *testing.T) {
	p := chargerecord.OnPod(extendedPod("main example.com/gpu=2 cpu=1", "more example.com/nic=1"), "root/team", "")
	p.Status.Phase = corev1.PodRunning
	names := []corev1.ResourceName{"example.com/gpu", "example.com/nic"}
	claim, err := ExtendedClaim(p, names, offeredClass)
	if err != nil {
		t.Fatal(err)
	}
	claim.Name, claim.UID, claim.Status.Allocation = "pod-extended-resources-x7", "claim-uid", &resourceapi.AllocationResult{}
	for _, request := range claim.Spec.Devices.Requests {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{Request: request.Name})
	}
	chargerecord.SetClaims(p, []*resourceapi.ResourceClaim{claim})
	if diff := cmp.Diff(names, ExtendedNames(p, chargerecord.ClaimsOf(p)[0])); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
