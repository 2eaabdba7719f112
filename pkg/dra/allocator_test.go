// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// stock returns an allocator with the given number of devices of each class on node n1. Device names begin with their class.
func stock(counts map[string]int) *Allocator {
	var classes []*resourceapi.DeviceClass
	var devices []resourceapi.Device
	for name, n := range counts {
		classes = append(classes, class(name, fmt.Sprintf(`device.attributes["driver"].model == %q`, name)))
		for i := range n {
			devices = append(devices, resourceapi.Device{
				Name:       fmt.Sprintf("%s-%d", name, i),
				Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To(name)}},
			})
		}
	}
	return withEverything(NewCatalog(classes, []*resourceapi.ResourceSlice{sliceOn("n1", "n1", devices...)}))
}

func withEverything(catalog *Catalog) *Allocator {
	features := structured.Features{AdminAccess: true, PrioritizedList: true, ConsumableCapacity: true, PartitionableDevices: true, DeviceTaints: true}
	return NewAllocator(features, catalog, cel.NewCache(10, cel.Features{EnableConsumableCapacity: true}))
}

// pick returns the allocation that an allocator picks on a node for a claim, or nil.
func pick(t *testing.T, a *Allocator, node string, requests ...resourceapi.DeviceRequest) *resourceapi.AllocationResult {
	t.Helper()
	results, err := a.Pick(t.Context(), onNode(node), []*resourceapi.ResourceClaim{claim(requests...)}, Quota{Accepts: atMost(nil)}, alone().Node())
	if err != nil {
		t.Fatal(err)
	}
	if results == nil {
		return nil
	}
	return &results[0]
}

// alone returns the effort of a job with its own budget.
func alone() *Effort { return NewBudget(BudgetOfSession).Of("", "") }

func onNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// got lists the request of every allocated device.
func got(results []resourceapi.AllocationResult) string {
	var requests []string
	for _, result := range results {
		for _, device := range result.Devices.Results {
			requests = append(requests, device.Request)
		}
	}
	return strings.Join(requests, " ")
}

// atMost accepts up to the given number of devices of each class.
func atMost(limits map[string]int) func([]resourceapi.AllocationResult) bool {
	return func(results []resourceapi.AllocationResult) bool {
		counts := map[string]int{}
		for _, result := range results {
			for _, device := range result.Devices.Results {
				name, _, _ := strings.Cut(device.Device, "-")
				counts[name]++
			}
		}
		for name, limit := range limits {
			if counts[name] > limit {
				return false
			}
		}
		return true
	}
}

func TestPick(t *testing.T) {
	either := func(name string, classes ...string) resourceapi.DeviceRequest {
		var alternatives []resourceapi.DeviceRequest
		for _, c := range classes {
			alternatives = append(alternatives, exactly(c, c, 1))
		}
		return firstAvailable(name, alternatives...)
	}
	for _, c := range []struct {
		name     string
		stock    map[string]int
		requests []resourceapi.DeviceRequest
		limits   map[string]int
		node     string
		want     string
	}{
		{name: "a count", stock: map[string]int{"a": 3}, requests: []resourceapi.DeviceRequest{exactly("r", "a", 2)}, want: "r r"},
		{name: "more than exist", stock: map[string]int{"a": 1}, requests: []resourceapi.DeviceRequest{exactly("r", "a", 2)}},
		{name: "on another node", stock: map[string]int{"a": 3}, requests: []resourceapi.DeviceRequest{exactly("r", "a", 2)}, node: "n2"},
		{name: "all of a class", stock: map[string]int{"a": 3}, requests: []resourceapi.DeviceRequest{all("r", "a")}, want: "r r r"},
		{name: "all of a class, if that is not accepted", stock: map[string]int{"a": 3}, requests: []resourceapi.DeviceRequest{all("r", "a")}, limits: map[string]int{"a": 2}},
		{name: "the preferred alternative", stock: map[string]int{"a": 1, "b": 1}, requests: []resourceapi.DeviceRequest{either("r", "a", "b")}, want: "r/a"},
		{name: "the alternative that exists", stock: map[string]int{"a": 0, "b": 1}, requests: []resourceapi.DeviceRequest{either("r", "a", "b")}, want: "r/b"},
		{
			name: "the alternative that is accepted", stock: map[string]int{"a": 1, "b": 1, "c": 1},
			requests: []resourceapi.DeviceRequest{either("r", "a", "b", "c")}, limits: map[string]int{"a": 0, "b": 0}, want: "r/c",
		},
		{
			name: "no alternative is accepted", stock: map[string]int{"a": 1, "b": 1},
			requests: []resourceapi.DeviceRequest{either("r", "a", "b")}, limits: map[string]int{"a": 0, "b": 0},
		},
		{
			name: "the first request keeps its preference, the last one changes", stock: map[string]int{"a": 2, "b": 2},
			requests: []resourceapi.DeviceRequest{either("r", "a", "b"), either("s", "a", "b")}, limits: map[string]int{"a": 1}, want: "r/a s/b",
		},
		{
			name: "the first request changes if the last one cannot", stock: map[string]int{"a": 2, "b": 1},
			requests: []resourceapi.DeviceRequest{either("r", "a", "b"), either("s", "a")}, limits: map[string]int{"a": 1}, want: "r/b s/a",
		},
		{
			name: "both requests change", stock: map[string]int{"a": 2, "b": 2},
			requests: []resourceapi.DeviceRequest{either("r", "a", "b"), either("s", "a", "b")}, limits: map[string]int{"a": 0}, want: "r/b s/b",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.node == "" {
				c.node = "n1"
			}
			results, err := stock(c.stock).Pick(t.Context(), onNode(c.node), []*resourceapi.ResourceClaim{claim(c.requests...)}, Quota{Accepts: atMost(c.limits)}, alone().Node())
			if err != nil {
				t.Fatal(err)
			}
			if got(results) != c.want {
				t.Errorf("picked %q, want %q", got(results), c.want)
			}
		})
	}
}

// TestPickTriesEveryCombination has three requests with three classes each. It checks that any accepted combination is found,
// and that no combination is tried twice.
func TestPickTriesEveryCombination(t *testing.T) {
	names := []string{"a", "b", "c"}
	var requests []resourceapi.DeviceRequest
	for _, r := range []string{"r", "s", "t"} {
		requests = append(requests, firstAvailable(r, exactly("a", "a", 1), exactly("b", "b", 1), exactly("c", "c", 1)))
	}
	allocator := stock(map[string]int{"a": 3, "b": 3, "c": 3})
	for i := range 27 {
		want := fmt.Sprintf("r/%s s/%s t/%s", names[i/9], names[i/3%3], names[i%3])
		var tried []string
		results, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(requests...)}, Quota{Accepts: func(results []resourceapi.AllocationResult) bool {
			if slices.Contains(tried, got(results)) {
				t.Errorf("%s is tried twice", got(results))
			}
			tried = append(tried, got(results))
			return got(results) == want
		}}, alone().Node())
		if err != nil || got(results) != want {
			t.Errorf("picked %q (%v), want %q", got(results), err, want)
		}
	}
}

func TestPickGivesUp(t *testing.T) {
	var requests []resourceapi.DeviceRequest
	for i := range 9 {
		requests = append(requests, firstAvailable(fmt.Sprint("r", i), exactly("a", "a", 1), exactly("b", "b", 1), exactly("c", "c", 1)))
	}
	never := func([]resourceapi.AllocationResult) bool { return false }
	_, err := stock(map[string]int{"a": 9, "b": 9, "c": 9}).Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(requests...)}, Quota{Accepts: never}, alone().Node())
	if err == nil || err.Error() != "the claims have too many combinations of alternatives and devices to try all of them: they have 27 requests and alternatives in all" {
		t.Errorf("the error is %v", err)
	}
}

func TestTakeAndPutBack(t *testing.T) {
	allocator, both := stock(map[string]int{"a": 2}), exactly("r", "a", 2)
	first, changes := pick(t, allocator, "n1", both), allocator.ChangesOn("n1")
	allocator.Take(first)
	if allocator.ChangesOn("n1") == changes {
		t.Error("Take does not count as a change")
	}
	if allocator.ChangesOn("n2") != 0 {
		t.Error("Take counts as a change on a node that does not reach the device")
	}
	if got := pick(t, allocator, "n1", both); got != nil {
		t.Errorf("devices in use are picked again: %v", got)
	}
	allocator.PutBack(first)
	if pick(t, allocator, "n1", both) == nil {
		t.Error("devices that were put back are not picked")
	}
}

// TestPanicOfTheAllocator uses a request that gets devices of two pools with one device each.
func TestPanicOfTheAllocator(t *testing.T) {
	var slices []*resourceapi.ResourceSlice
	for _, pool := range []string{"first", "second"} {
		slices = append(slices, sliceOn("n1", pool, resourceapi.Device{Name: "gpu"}))
	}
	allocator := withEverything(NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, slices))
	pick := func(request resourceapi.DeviceRequest) ([]resourceapi.AllocationResult, error) {
		quota := Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}
		return allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(request)}, quota, alone().Node())
	}

	got, err := pick(exactly("r", "gpu", 2))
	if err != nil || len(got) != 1 || len(got[0].Devices.Results) != 2 || got[0].Devices.Results[0].Device+got[0].Devices.Results[1].Device != "gpugpu" {
		t.Errorf("two devices: %v, error %v", got, err)
	}
	if got, err := pick(exactly("r", "gpu", 3)); err != nil || got != nil {
		t.Errorf("three devices: %v, error %v", got, err)
	}
	if _, err := pick(all("r", "gpu")); err == nil || !strings.Contains(err.Error(), "the allocator of Kubernetes cannot allocate devices on node n1: ") {
		t.Errorf("all devices: the error is %v", err)
	}
}
