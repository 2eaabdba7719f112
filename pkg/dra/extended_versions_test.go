// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestExtendedNamesKnowsTheClaimsOfEachVersion includes kube-scheduler 1.34, which gives each container its own request.
func TestExtendedNamesKnowsTheClaimsOfEachVersion(t *testing.T) {
	p := extendedPod("init example.com/gpu=3", "a example.com/gpu=1", "b example.com/gpu=2")
	for _, c := range []struct {
		name   string
		counts map[string]int64
		known  bool
	}{
		{"1.34", map[string]int64{"container-0-request-0": 3, "container-1-request-0": 1, "container-2-request-0": 2}, true},
		{"1.35", map[string]int64{"container-1-request-0": 1, "container-2-request-0": 2}, true},
		{"neither", map[string]int64{"container-0-request-0": 2, "container-1-request-0": 1, "container-2-request-0": 2}, false},
	} {
		claim := extendedClaim(t, p, "example.com/gpu")
		claim.Spec.Devices.Requests = nil
		for _, name := range slices.Sorted(maps.Keys(c.counts)) {
			request := exactly(name, "h100", c.counts[name])
			request.Exactly.AllocationMode = resourceapi.DeviceAllocationModeExactCount
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, request)
		}
		if got := len(ExtendedNames(p, claim)) == 1; got != c.known {
			t.Errorf("the claim of %s is known: %v, want %v", c.name, got, c.known)
		}
	}
}

// TestExtendedNamesKnowsTheClaimOfAPodThatWasResized matters because request names contain positions among the container's requests when the
// claim was made.
func TestExtendedNamesKnowsTheClaimOfAPodThatWasResized(t *testing.T) {
	p := extendedPod("init example.com/gpu=1", "a example.com/gpu=2 memory=1Gi", "b example.com/gpu=1")
	names := []corev1.ResourceName{"example.com/gpu"}
	claim := extendedClaim(t, p, names...)
	claim.Name = "pod-extended-resources-abcde"
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim.Name, RequestMappings: RequestMappings(p, claim)}
	p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1")
	p.Spec.Containers[1].Resources.Requests["cpu"] = resource.MustParse("1")
	if got := ExtendedNames(p, claim); !slices.Equal(got, names) {
		t.Errorf("the claim is for %v, want %v", got, names)
	}
	for i := range claim.Spec.Devices.Requests {
		changed := claim.DeepCopy()
		changed.Spec.Devices.Requests[i].Exactly.Count++
		if got := ExtendedNames(p, changed); got != nil {
			t.Errorf("a claim with more devices is for %v", got)
		}
	}
	claim.Name = "another"
	if got := ExtendedNames(p, claim); got != nil {
		t.Errorf("a claim that the status does not name is for %v", got)
	}
}
