// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// sizes describes devices of class gpu on node n1, in words such as 80, or 80@1 for a device with the attribute numa. They are
// named d0, d1, and so on. A word that begins with x is a device of class nic.
type sizes string

func (s sizes) allocator(change func(i int, device *resourceapi.Device)) (*Allocator, *Catalog) {
	slice := sliceOn("n1", "n1")
	for i, word := range strings.Fields(string(s)) {
		size, numa, _ := strings.Cut(word, "@")
		model := "gpu"
		if strings.HasPrefix(size, "x") {
			size, model = size[1:], "nic"
		}
		device := resourceapi.Device{
			Name: fmt.Sprint("d", i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model": {StringValue: ptr.To(model)}, "numa": {StringValue: ptr.To(numa)}, "uuid": {StringValue: ptr.To(fmt.Sprint("u", i))},
			},
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(size)}},
		}
		if change != nil {
			change(i, &device)
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	slice.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "gpu", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("1Ti")}}}}
	catalog := NewCatalog([]*resourceapi.DeviceClass{
		class("gpu", `device.attributes["driver"].model == "gpu"`), class("nic", `device.attributes["driver"].model == "nic"`),
	}, []*resourceapi.ResourceSlice{slice})
	return withEverything(catalog), catalog
}

// room accepts results if the total memory of their devices of class gpu is at most this amount.
type room struct {
	catalog *Catalog
	most    int64
	asked   int
}

func (r *room) sum(results ...resourceapi.AllocationResult) int64 {
	var sum int64
	for _, result := range results {
		for i := range result.Devices.Results {
			d := &result.Devices.Results[i]
			device, _ := r.catalog.Device(idOf(d))
			size := device.Capacity["memory"].Value
			if d.ConsumedCapacity != nil {
				size = d.ConsumedCapacity["memory"]
			}
			if *device.Attributes["model"].StringValue == "gpu" && !ptr.Deref(d.AdminAccess, false) {
				sum += size.Value()
			}
		}
	}
	return sum
}

func (r *room) quota() Quota {
	return Quota{
		Accepts: func(results []resourceapi.AllocationResult) bool {
			r.asked++
			return r.sum(results...) <= r.most
		},
		Charge: func(_ int, only *resourceapi.AllocationResult) Charge { return Charge(r.sum(*only)) },
		Possible: func(slots []Slots) bool {
			sum := 0
			for _, s := range slots {
				slices.SortFunc(s.Choices, func(a, b Choice) int { return cmp.Compare(a.Charge, b.Charge) })
				rest := s.Count
				for _, c := range s.Choices {
					n := min(rest, c.Devices)
					if c.Shared {
						n = rest
					}
					sum, rest = sum+n*int(c.Charge), rest-n
				}
			}
			return int64(sum) <= r.most
		},
	}
}

// names lists the picked devices, sorted.
func names(results []resourceapi.AllocationResult) string {
	var all []string
	for _, result := range results {
		for _, d := range result.Devices.Results {
			all = append(all, d.Device)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func matching(c *resourceapi.ResourceClaim, attribute string) *resourceapi.ResourceClaim {
	c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName("driver/" + attribute))}}
	return c
}

func TestPickTriesOtherDevicesOfTheClass(t *testing.T) {
	partition := func(i int, device *resourceapi.Device) {
		memory := device.Capacity["memory"].Value
		device.ConsumesCounters = consuming("", "gpu", memory.String()).ConsumesCounters
	}
	admin := admin(where(exactly("watched", "gpu", 1), `device.attributes["driver"].uuid == "u0"`))
	one, two := exactly("r", "gpu", 1), exactly("r", "gpu", 2)
	for _, c := range []struct {
		name   string
		has    sizes
		taken  string
		change func(int, *resourceapi.Device)
		claims []*resourceapi.ResourceClaim
		room   int64
		want   string
		// most is the maximum number of sets tried.
		most int
	}{
		{name: "the first device fits", has: "80 40", claims: []*resourceapi.ResourceClaim{claim(one)}, room: 80, want: "d0", most: 1},
		{name: "a smaller one", has: "80 80 80 40", claims: []*resourceapi.ResourceClaim{claim(one)}, room: 40, want: "d3", most: 2},
		{name: "the smaller one is in use", has: "80 80 80 40", taken: "d3", claims: []*resourceapi.ResourceClaim{claim(one)}, room: 40, most: 1},
		{name: "none is small enough", has: "80 80 80 40", claims: []*resourceapi.ResourceClaim{claim(one)}, room: 39, most: 1},
		{name: "the smallest of many", has: "80 40 20 10 10", claims: []*resourceapi.ResourceClaim{claim(one)}, room: 10, want: "d3", most: 4},
		{name: "two smaller ones", has: "80 80 40 40", claims: []*resourceapi.ResourceClaim{claim(two)}, room: 80, want: "d2 d3", most: 2},
		{name: "one large and one small", has: "80 80 80 40", claims: []*resourceapi.ResourceClaim{claim(two)}, room: 120, want: "d0 d3", most: 2},
		{name: "of two requests", has: "80 80 40", claims: []*resourceapi.ResourceClaim{claim(one, exactly("s", "gpu", 1))}, room: 120, want: "d0 d2", most: 2},
		{name: "of two claims", has: "80 80 40", claims: []*resourceapi.ResourceClaim{claim(one), claim(one)}, room: 120, want: "d0 d2", most: 2},
		{
			name: "a hundred large devices are hopeless at once", has: sizes(strings.Repeat("80 ", 100)),
			claims: []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 8))}, room: 639, most: 1,
		},
		{name: "devices of other classes do not help", has: "80 80 x0 x0", claims: []*resourceapi.ResourceClaim{claim(two, exactly("n", "nic", 1))}, room: 159, most: 1},
		{
			name: "devices of other classes stay", has: "80 40 x10 x20", room: 40,
			claims: []*resourceapi.ResourceClaim{claim(one, exactly("n", "nic", 1))}, want: "d1 d2", most: 2,
		},
		{
			name: "a constraint holds", has: "80@0 80@1 40@1", room: 120,
			claims: []*resourceapi.ResourceClaim{matching(claim(two), "numa")}, want: "d1 d2", most: 4,
		},
		{name: "a constraint makes it hopeless", has: "80@0 80@0 40@1", room: 120, claims: []*resourceapi.ResourceClaim{matching(claim(two), "numa")}, most: 4},
		{name: "all devices are all devices", has: "80 40", room: 40, claims: []*resourceapi.ResourceClaim{claim(all("r", "gpu"))}, most: 1},
		{
			name: "all of one class and one of another", has: "80 40 x1 x2", room: 40,
			claims: []*resourceapi.ResourceClaim{claim(one, all("n", "nic"))}, want: "d1 d2 d3", most: 2,
		},
		{name: "access for administration is left alone", has: "80 40", room: 40, claims: []*resourceapi.ResourceClaim{claim(one, admin)}, want: "d0 d1", most: 2},
		{name: "a smaller partition", has: "80 40 10", change: partition, room: 10, claims: []*resourceapi.ResourceClaim{claim(one)}, want: "d2", most: 3},
		{
			name: "before another alternative", has: "80 40 x1", room: 40,
			claims: []*resourceapi.ResourceClaim{claim(firstAvailable("r", exactly("a", "gpu", 1), exactly("b", "nic", 1)))}, want: "d1", most: 2,
		},
		{
			name: "after that another alternative", has: "80 60 x1", room: 40,
			claims: []*resourceapi.ResourceClaim{claim(firstAvailable("r", exactly("a", "gpu", 1), exactly("b", "nic", 1)))}, want: "d2", most: 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			allocator, catalog := c.has.allocator(c.change)
			if c.taken != "" {
				allocator.Take(&resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
					Results: []resourceapi.DeviceRequestAllocationResult{{Driver: "driver", Pool: "n1", Device: c.taken}}}})
			}
			r := &room{catalog: catalog, most: c.room}
			before := make([]*resourceapi.ResourceClaim, len(c.claims))
			for i := range c.claims {
				before[i] = c.claims[i].DeepCopy()
			}
			results, err := allocator.Pick(t.Context(), onNode("n1"), c.claims, r.quota(), alone().Node())
			if err != nil {
				t.Fatal(err)
			}
			if got := names(results); got != c.want || r.asked > c.most {
				t.Errorf("picked %q after %d sets, want %q after at most %d", got, r.asked, c.want, c.most)
			}
			for i := range before {
				if !slices.EqualFunc(before[i].Spec.Devices.Requests, c.claims[i].Spec.Devices.Requests, func(a, b resourceapi.DeviceRequest) bool {
					return a.String() == b.String()
				}) {
					t.Errorf("claim %d is changed", i)
				}
			}
		})
	}
}

// TestPickAgainstTryingEverything compares Pick with a search of all sets of devices.
func TestPickAgainstTryingEverything(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 400 {
		var words []string
		for range 1 + random.IntN(7) {
			words = append(words, fmt.Sprintf("%d@%d", []int{10, 20, 40, 80}[random.IntN(4)], random.IntN(2)))
		}
		has := sizes(strings.Join(words, " "))
		allocator, catalog := has.allocator(nil)
		var requests []resourceapi.DeviceRequest
		need := 0
		for i := range 1 + random.IntN(2) {
			n := 1 + random.IntN(2)
			requests, need = append(requests, exactly(fmt.Sprint("r", i), "gpu", int64(n))), need+n
		}
		c, sameNuma := claim(requests...), random.IntN(2) == 0
		if sameNuma {
			matching(c, "numa")
		}
		r := &room{catalog: catalog, most: int64(random.IntN(200))}
		results, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{c}, r.quota(), alone().Node())
		if err != nil {
			t.Fatalf("devices %s: %v", has, err)
		}
		fits := false
		for chosen := range subsets(len(words), need) {
			sum, same := int64(0), true
			for _, i := range chosen {
				size, numa, _ := strings.Cut(words[i], "@")
				_, first, _ := strings.Cut(words[chosen[0]], "@")
				quantity := resource.MustParse(size)
				sum, same = sum+quantity.Value(), same && (numa == first || !sameNuma)
			}
			fits = fits || same && sum <= r.most
		}
		if fits != (results != nil) || results != nil && r.sum(results...) > r.most {
			t.Errorf("devices %s, %d of them, same numa %t, room %d: picked %q, want some: %t", has, need, sameNuma, r.most, names(results), fits)
		}
	}
}

// sharedBy makes each device shareable, with its default consumption of memory.
func sharedBy(defaults ...string) func(int, *resourceapi.Device) {
	return func(i int, device *resourceapi.Device) {
		device.AllowMultipleAllocations = ptr.To(true)
		memory := device.Capacity["memory"]
		memory.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse(defaults[i]))}
		device.Capacity["memory"] = memory
	}
}

func TestASharedDeviceWithLessConsumption(t *testing.T) {
	allocator, catalog := sizes("80 80").allocator(sharedBy("40", "10"))
	r := &room{catalog: catalog, most: 10}
	results, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 1))}, r.quota(), alone().Node())
	if err != nil || names(results) != "d1" {
		t.Errorf("picked %q (%v), want d1, which gives 10 by default", names(results), err)
	}
}

// TestASharedDeviceThatIsPickedTwice covers a kind with one remaining device, which serves both requests.
func TestASharedDeviceThatIsPickedTwice(t *testing.T) {
	for _, c := range []struct {
		room int64
		want string
	}{{80, "d0 d0"}, {60, "d1 d1"}, {59, ""}} {
		allocator, catalog := sizes("80 80").allocator(sharedBy("40", "30"))
		r := &room{catalog: catalog, most: c.room}
		twice := []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 1), exactly("s", "gpu", 1))}
		results, err := allocator.Pick(t.Context(), onNode("n1"), twice, r.quota(), alone().Node())
		if err != nil || names(results) != c.want || r.asked > 2 {
			t.Errorf("room %d: picked %q (%v) after %d sets, want %q after at most 2", c.room, names(results), err, r.asked, c.want)
		}
	}
}
