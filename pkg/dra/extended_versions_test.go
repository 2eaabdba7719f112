// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestKubernetes134ReadsOneMappingForAContainerAndAResource matters because its API server refuses more, and its kubelet gives the
// container the first.
func TestKubernetes134ReadsOneMappingForAContainerAndAResource(t *testing.T) {
	for _, c := range []struct {
		name         string
		pod          *corev1.Pod
		want         string
		wantMappings string
	}{
		{"a container has enough devices", extendedPod("init example.com/gpu=2", "main example.com/gpu=2"), "container-1-request-0 h100=2",
			"init=container-1-request-0 main=container-1-request-0"},
		{"the second container has enough devices", extendedPod("init example.com/gpu=2", "a example.com/gpu=1", "b example.com/gpu=3"),
			"container-1-request-0 h100=1 container-2-request-0 h100=3", "a=container-1-request-0 b=container-2-request-0 init=container-2-request-0"},
		{"no container has enough devices", extendedPod("init example.com/gpu=2", "a example.com/gpu=1", "b example.com/gpu=1"),
			"container-0-request-0 h100=2 container-1-request-0 h100=1 container-2-request-0 h100=1",
			"a=container-1-request-0 b=container-2-request-0 init=container-0-request-0"},
		{"init containers share a request", extendedPod("init-a example.com/gpu=3", "init-b example.com/gpu=2", "init-c example.com/gpu=1", "main example.com/gpu=1"),
			"container-0-request-0 h100=3 container-3-request-0 h100=1",
			"init-a=container-0-request-0 init-b=container-0-request-0 init-c=container-3-request-0 main=container-3-request-0"},
		{"a sidecar that starts before has other devices", extendedPod("sidecar example.com/gpu=2", "init example.com/gpu=2", "main example.com/gpu=1"),
			"container-0-request-0 h100=2 container-1-request-0 h100=2 container-2-request-0 h100=1",
			"init=container-1-request-0 main=container-2-request-0 sidecar=container-0-request-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim, err := ExtendedClaim(c.pod, []corev1.ResourceName{"example.com/gpu"}, offeredClass)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(requestsIn(claim), " "); got != c.want {
				t.Errorf("the claim requests %s, want %s", got, c.want)
			}
			var mappings []string
			for _, m := range RequestMappings(c.pod, claim) {
				mappings = append(mappings, m.ContainerName+"="+m.RequestName)
			}
			slices.Sort(mappings)
			if got := strings.Join(mappings, " "); got != c.wantMappings {
				t.Errorf("the mappings are %s, want %s", got, c.wantMappings)
			}
		})
	}
}

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
		claim, err := ExtendedClaim(p, []corev1.ResourceName{"example.com/gpu"}, offeredClass)
		if err != nil {
			t.Fatal(err)
		}
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
	claim, err := ExtendedClaim(p, names, offeredClass)
	if err != nil {
		t.Fatal(err)
	}
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
