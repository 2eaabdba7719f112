// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

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
		if got := c.allocator.isShort(t, claim(c.requests...)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func (a *Allocator) isShort(t *testing.T, claims ...*resourceapi.ResourceClaim) bool {
	t.Helper()
	short, err := a.short(t.Context(), a.catalog.slicesFor("n1"), claims, alone().Node(), false)
	if err != nil {
		t.Fatal(err)
	}
	return short
}

// models selects devices of the class any by their model.
func models(request resourceapi.DeviceRequest, models ...string) resourceapi.DeviceRequest {
	return where(request, fmt.Sprintf(`device.attributes["driver"].model in ["%s"]`, strings.Join(models, `", "`)))
}

// TestNothingIsMissedThatTheAlgorithmFinds compares with Kubernetes' algorithm for few devices. Without constraints, and with
// one device per alternative, the count alone decides.
func TestNothingIsMissedThatTheAlgorithmFinds(t *testing.T) {
	shorts, either := 0, [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "c"}}
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 0))
		a := stock(map[string]int{"a": random.IntN(4), "b": random.IntN(4), "c": random.IntN(3)})
		a.catalog.classes["any"] = class("any")
		a.use("a", random.IntN(3))
		a.use("b", random.IntN(3))
		exact := true
		request := func(name string, most int64) resourceapi.DeviceRequest {
			one := func(name string, count int64) resourceapi.DeviceRequest {
				return models(exactly(name, "any", count), either[random.IntN(len(either))]...)
			}
			if count := 1 + random.Int64N(most); random.IntN(3) > 0 {
				return one(name, count)
			}
			first, second := 1+random.Int64N(2), 1+random.Int64N(2)
			exact = exact && first == 1 && second == 1
			return firstAvailable(name, one("x", first), one("y", second))
		}
		var claims []*resourceapi.ResourceClaim
		for range 1 + random.IntN(2) {
			claims = append(claims, claim(request("r", 3), request("s", 2), request("t", 1)))
		}
		_, total := a.countable(claims)
		short := a.isShort(t, claims...)
		if short {
			shorts++
		}
		solver, err := structured.NewAllocator(t.Context(), a.features, a.taken, classes{a.catalog}, a.catalog.slicesFor("n1"), a.celCache)
		if err != nil {
			t.Fatal(err)
		}
		found, err := solver.Allocate(t.Context(), onNode("n1"), claims)
		if err != nil || short && len(found) > 0 {
			t.Errorf("seed %d: the algorithm finds %v, error %v", seed, found, err)
		}
		if exact && total >= countedFrom && !short && len(found) == 0 {
			t.Errorf("seed %d: the algorithm finds nothing, which is not noticed", seed)
		}
	}
	if shorts < 100 {
		t.Errorf("devices are missing in %d cases", shorts)
	}
}

// counting counts the checks of its end. Kubernetes' algorithm checks once per step.
type counting struct {
	context.Context
	// steps and evaluated count the steps of searches, and the selectors that are evaluated.
	steps, evaluated int
}

func (c *counting) Done() <-chan struct{} {
	c.evaluated++
	return c.Context.Done()
}

func (c *counting) Err() error {
	c.steps++
	return c.Context.Err()
}

// TestRequestsThatContendForADeviceAreRefusedAtOnce has eight requests, two of which fit only the same device. Kubernetes' algorithm takes
// 58,000 steps to detect this.
func TestRequestsThatContendForADeviceAreRefusedAtOnce(t *testing.T) {
	a := stock(map[string]int{"a": 7, "b": 1})
	a.catalog.classes["any"] = class("any")
	var requests []resourceapi.DeviceRequest
	for i := range 8 {
		request := exactly(fmt.Sprint("r", i), "any", 1)
		if i >= 6 {
			request = models(request, "b")
		}
		requests = append(requests, request)
	}
	ctx := &counting{Context: t.Context()}
	results, err := a.Pick(ctx, onNode("n1"), []*resourceapi.ResourceClaim{claim(requests...)}, Quota{Accepts: atMost(nil)}, alone().Node())
	if results != nil || err != nil || ctx.steps > 100 {
		t.Errorf("got %v, %v after %d steps", results, err, ctx.steps)
	}
	requests[7] = models(exactly("r7", "any", 1), "a", "b")
	if results, err = a.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(requests...)}, Quota{Accepts: atMost(nil)}, alone().Node()); results == nil || err != nil {
		t.Errorf("got %v, %v although there is a way", results, err)
	}
}
