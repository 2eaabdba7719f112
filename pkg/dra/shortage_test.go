// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// use takes so many devices of a class.
func (a *Allocator) use(class string, n int) {
	result := &resourceapi.AllocationResult{}
	for i := range n {
		result.Devices.Results = append(result.Devices.Results, resourceapi.DeviceRequestAllocationResult{Driver: "driver", Pool: "n1", Device: fmt.Sprintf("%s-%d", class, i)})
	}
	a.Take(result)
}

func TestAMissingDeviceEndsTheSearchBeforeItBegins(t *testing.T) {
	shared := stock(map[string]int{"gpu": 8})
	shared.catalog.ofNode["n1"][0].Spec.Devices[7].AllowMultipleAllocations = ptr.To(true)
	broken := stock(map[string]int{"gpu": 8})
	delete(broken.catalog.ofNode["n1"][0].Spec.Devices[7].Attributes, "model")
	for _, c := range []struct {
		name      string
		allocator *Allocator
		used      int
		requests  []resourceapi.DeviceRequest
		want      bool
	}{
		{"one of eight is in use", stock(map[string]int{"gpu": 8}), 1, []resourceapi.DeviceRequest{exactly("r", "gpu", 8)}, true},
		{"none is in use", stock(map[string]int{"gpu": 8}), 0, []resourceapi.DeviceRequest{exactly("r", "gpu", 8)}, false},
		{"others are free", stock(map[string]int{"gpu": 8, "nic": 8}), 1, []resourceapi.DeviceRequest{exactly("r", "gpu", 8)}, true},
		{"two requests ask for the same devices", stock(map[string]int{"gpu": 8}), 1, []resourceapi.DeviceRequest{exactly("r", "gpu", 4), exactly("s", "gpu", 4)}, true},
		{"all are in use", stock(map[string]int{"gpu": 8}), 8, []resourceapi.DeviceRequest{exactly("r", "gpu", 1)}, true},
		{"a device can be shared", shared, 1, []resourceapi.DeviceRequest{exactly("r", "gpu", 8)}, false},
		{"a device lacks an attribute, which is an error", broken, 1, []resourceapi.DeviceRequest{exactly("r", "gpu", 8)}, false},
		{"the class does not exist, which is an error", stock(map[string]int{"gpu": 8}), 8, []resourceapi.DeviceRequest{exactly("r", "tpu", 1)}, false},
	} {
		c.allocator.use("gpu", c.used)
		if got := c.allocator.short(t.Context(), c.allocator.catalog.slicesFor("n1"), []*resourceapi.ResourceClaim{claim(c.requests...)}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestNothingIsMissedThatTheAlgorithmFinds compares with Kubernetes' algorithm for few devices.
func TestNothingIsMissedThatTheAlgorithmFinds(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		a := stock(map[string]int{"a": random.IntN(5), "b": random.IntN(5)})
		a.use("a", random.IntN(3))
		a.use("b", random.IntN(3))
		var claims []*resourceapi.ResourceClaim
		for range 1 + random.IntN(2) {
			claims = append(claims, claim(exactly("r", []string{"a", "b"}[random.IntN(2)], 1+random.Int64N(4)), exactly("s", []string{"a", "b"}[random.IntN(2)], 1+random.Int64N(2))))
		}
		if !a.short(t.Context(), a.catalog.slicesFor("n1"), claims) {
			continue
		}
		solver, err := structured.NewAllocator(t.Context(), a.features, a.taken, classes{a.catalog}, a.catalog.slicesFor("n1"), a.celCache)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := solver.Allocate(t.Context(), &corev1.Node{}, claims); err != nil || len(found) > 0 {
			t.Errorf("seed %d: the algorithm finds %v, error %v", seed, found, err)
		}
	}
}
