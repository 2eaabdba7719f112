// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// given allocates devices to a claim and reserves it for pods.
func given(claim *resourceapi.ResourceClaim, devices int, pods ...string) {
	claim.Status = resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}}
	for i := range devices {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
			Request: claim.Spec.Devices.Requests[0].Name, Driver: "driver", Pool: "n1", Device: fmt.Sprint("gpu-", i),
		})
	}
	for _, pod := range pods {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: types.UID(pod)})
	}
}

// TestNobodyGetsDevicesWithAClaimThatLooksLikeTheSchedulers uses a forged claim, because any user can write the annotation and the owner of
// an extended claim. Pod other would use the devices, and no pod would be charged for the resource.
func TestNobodyGetsDevicesWithAClaimThatLooksLikeTheSchedulers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*resourceapi.ResourceClaim)
	}{
		{"it has no devices yet", func(*resourceapi.ResourceClaim) {}},
		{"another pod uses it", func(claim *resourceapi.ResourceClaim) { given(claim, 2, "other") }},
		{"another pod uses it, too", func(claim *resourceapi.ResourceClaim) { given(claim, 2, "p", "other") }},
		{"its pod used it alone before", func(claim *resourceapi.ResourceClaim) { given(claim, 2, "other") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, true, true)
			p := object("p", "", "nvidia.com/gpu=2")
			claim := f.extendedClaim(p, gpu)
			claim.Name, claim.UID = "claim", "claim"
			f.reader.claims["claim"] = claim
			if c.name == "its pod used it alone before" {
				used := claim.DeepCopy()
				given(used, 2, "p")
				f.reader.claims["claim"] = used
				f.requesting(p, true)
				f.serve(true, true)
			}
			changed := claim.DeepCopy()
			c.change(changed)
			f.reader.claims["claim"] = changed
			f.requesting(p, false)
			other := pod("claim")
			other.UID = "other"
			other.Spec.Containers = cardPod("").Containers
			if got := f.ways(f.requesting(other, false)); got != "H100:2 h100:2 nvidia.com/gpu:2" {
				t.Errorf("the other pod comes to %s", got)
			}
		})
	}
}

// TestAClaimCountsAsTheSchedulersFromTheFirstRound checks that the claim never counts for the resource as well.
func TestAClaimCountsAsTheSchedulersFromTheFirstRound(t *testing.T) {
	for _, c := range []struct {
		name             string
		plugins, devices bool
	}{{"both serve the resource", true, true}, {"DRA serves the resource on no node now", true, false}} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, c.plugins, c.devices)
			if !c.devices {
				f.Configure(Options{}, Serving{})
			}
			p := object("p", "", "nvidia.com/gpu=2")
			p.Spec.NodeName = "n1"
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "claim"}
			claim := f.extendedClaim(p, gpu)
			claim.Name, claim.UID = "claim", "claim"
			given(claim, 2, "p")
			f.reader.claims["claim"] = claim
			if got := f.ways(f.requesting(p, true)); got != "H100:2 h100:2 nvidia.com/gpu:2" {
				t.Errorf("the pod comes to %s", got)
			}
		})
	}
}

// TestCardsOfAFailedAttemptAreNotChargedForDevices uses a pod that failed to bind to a node with a device plugin. It then gets devices of
// another node.
func TestCardsOfAFailedAttemptAreNotChargedForDevices(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		f := world(t, true, true)
		p := object("p", "", "nvidia.com/gpu=2")
		placed := f.Place(f.requesting(p, false), nil)
		if err := placed.Cards.Assign(f.books, f.Fleet.Node("a"), nil); err != nil || len(placed.Cards.ChargedCards()) == 0 {
			t.Fatal("the pod is charged no cards", err)
		}
		f.Remember(placed)
		if renewed {
			f.Renew()
		}
		f.serve(true, true)
		pod := f.requesting(p, false)
		if other := f.Place(pod, []corev1.ResourceName{gpu}); other.Cards != nil {
			t.Errorf("with devices, the pod is charged for cards %v", other.Cards.ChargedCards())
		}
		if same := f.Place(pod, nil); same.Cards == nil || !same.Cards.Charged() {
			t.Error("the cards are forgotten although the pod may have them")
		}
	}
}
