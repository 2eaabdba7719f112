// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestADeviceCountsForTheResourceThatAMatchingClassOffers checks that a claim of another class with the same devices cannot bypass the
// quota of nvidia.com/gpu.
func TestADeviceCountsForTheResourceThatAMatchingClassOffers(t *testing.T) {
	for _, c := range []struct {
		offering []string
		want     string
	}{{nil, "c large/memory:80GiB large:1"}, {[]string{"gpu"}, "c large/memory:80GiB large:1 nvidia.com/gpu:1"}} {
		published := overlapping("big")
		generic, _ := published.Class("gpu")
		generic.Spec.ExtendedResourceName = ptr.To(string(gpu))
		var classes []*resourceapi.DeviceClass
		for name := range published.Classes {
			class, _ := published.Class(name)
			classes = append(classes, class)
		}
		slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: "driver", NodeName: ptr.To("node"), Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}}}
		device, _ := published.Device(dra.DeviceID{Driver: "driver", Pool: "pool", Device: "big"})
		slice.Spec.Devices = []resourceapi.Device{*device}
		dimensions, cs := matchingClaims(nil, false)
		dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: string(gpu)})
		cs.Match(Matching{Matcher: cs.next.Matcher, Offering: c.offering})
		cs.Begin(dra.NewCatalog(classes, []*resourceapi.ResourceSlice{slice}))
		if got := describe(dimensions, cs.Of(on(claim("c", exactly("large", 1)), "big"))); got != c.want {
			t.Errorf("offering %v: it comes to %s, want %s", c.offering, got, c.want)
		}
	}
}

// TestTheImplicitNameOfAClassCountsForTheResourceThatItOffers checks that the implicit name of a class cannot bypass the quota of
// nvidia.com/gpu.
func TestTheImplicitNameOfAClassCountsForTheResourceThatItOffers(t *testing.T) {
	const implicit = "deviceclass.resource.kubernetes.io/h100"
	for _, c := range []struct{ name, requests, want, wantOfJob string }{
		{"the implicit name", implicit + "=2", "H100:2 h100:2 nvidia.com/gpu:2", "H100:6 h100:6 nvidia.com/gpu:6"},
		// The resources of a job count through the minResources of its PodGroup.
		{"both names", implicit + "=2 nvidia.com/gpu=1", "H100:3 h100:3 nvidia.com/gpu:3", "H100:9 h100:9 nvidia.com/gpu:6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, false, false)
			published := offering()
			f.Configure(Options{}, Serving{ByDevices: [][]corev1.ResourceName{{implicit, gpu}}, Class: func(name corev1.ResourceName) string {
				class, _ := published.Extended(name)
				return class
			}})
			f.begin()
			f.Begin(f.reader, published)
			p := object("p", "", c.requests)
			if got := f.ways(f.requesting(p, false)); got != c.want {
				t.Errorf("the pod comes to %s, want %s", got, c.want)
			}
			template := corev1.PodTemplateSpec{Spec: p.Spec}
			f.expectNeeds("before its pods exist", f.needs(ofThree(3, template), JobPods{}), c.wantOfJob, "")
			claim := f.extendedClaim(p, implicit, gpu)
			claim.Name, claim.UID, claim.Status = "made", "made", resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}}
			for _, request := range claim.Spec.Devices.Requests {
				for range request.Exactly.Count {
					claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
						Request: request.Name, Driver: "driver", Pool: "n1", Device: fmt.Sprint("gpu-", len(claim.Status.Allocation.Devices.Results)),
					})
				}
			}
			f.reader.claims["made"] = claim
			f.serve(false, true)
			if got := f.ways(f.requesting(p, true)); got != c.want {
				t.Errorf("the pod that runs comes to %s, want %s", got, c.want)
			}
		})
	}
}

// TestAPodIsChargedForDevicesBeyondItsEffectiveRequest has an init container that asks for four devices, and two containers that ask for two each: the
// effective request is four, and the claim has eight devices.
func TestAPodIsChargedForDevicesBeyondItsEffectiveRequest(t *testing.T) {
	f := world(t, false, true)
	p := object("p", "", "nvidia.com/gpu=2")
	first := *p.Spec.Containers[0].DeepCopy()
	first.Resources.Requests[gpu] = resource.MustParse("4")
	p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{first}, append(p.Spec.Containers, p.Spec.Containers[0])
	pod, err := f.Add(p, Values{Scalars: map[corev1.ResourceName]float64{gpu: 4000}}, scalarsOf(p))
	if err != nil {
		t.Fatal(err)
	}
	f.Refresh(pod)
	if got, want := f.ways(f.Settle(pod, false)), "H100:8 h100:8 nvidia.com/gpu:8"; got != want {
		t.Errorf("the pod comes to %s, want %s", got, want)
	}
}
