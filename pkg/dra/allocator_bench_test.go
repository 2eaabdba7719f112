// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// BenchmarkPick picks one device on one of many nodes. This project uses the slices of that node. Kubernetes' own plugin uses
// the slices of all nodes.
func BenchmarkPick(b *testing.B) {
	for _, nodes := range []int{100, 5000} {
		var all []*resourceapi.ResourceSlice
		for i := range nodes {
			all = append(all, gpusOn(fmt.Sprint("n", i), 8))
		}
		catalog := NewCatalog([]*resourceapi.DeviceClass{class("gpu")}, all)
		cache := cel.NewCache(10, cel.Features{})
		claims := []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 1))}
		b.Run(fmt.Sprintf("nodes=%d/slices=node", nodes), func(b *testing.B) {
			allocator := NewAllocator(structured.Features{}, catalog, cache)
			for b.Loop() {
				results, err := allocator.Pick(b.Context(), onNode("n7"), claims, Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}, alone().Node())
				if err != nil || results == nil {
					b.Fatal(results, err)
				}
			}
		})
		b.Run(fmt.Sprintf("nodes=%d/slices=all", nodes), func(b *testing.B) {
			allocator, err := structured.NewAllocator(b.Context(), structured.Features{}, NewAllocator(structured.Features{}, catalog, cache).taken, classes{catalog}, all, cache)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				results, err := allocator.Allocate(b.Context(), onNode("n7"), claims)
				if err != nil || results == nil {
					b.Fatal(results, err)
				}
			}
		})
	}
}

// BenchmarkPickManyAlternatives asks one question for a pod with as many requests and alternatives as the API allows in four
// claims. The quota refuses all of them.
func BenchmarkPickManyAlternatives(b *testing.B) {
	var claims []*resourceapi.ResourceClaim
	for range 4 {
		var requests []resourceapi.DeviceRequest
		for r := range 31 {
			var alternatives []resourceapi.DeviceRequest
			for a := range 8 {
				alternatives = append(alternatives, exactly(fmt.Sprint("a", a), "gpu", 1))
			}
			requests = append(requests, firstAvailable(fmt.Sprint("r", r), alternatives...))
		}
		claims = append(claims, claim(requests...))
	}
	allocator, catalog := sizes(strings.Repeat("80 ", 124)).allocator(nil)
	for b.Loop() {
		r := &room{catalog: catalog, most: 1}
		if results, err := allocator.Pick(b.Context(), onNode("n1"), claims, r.quota(), alone().Node()); results != nil || err == nil {
			b.Fatal(results, err)
		}
	}
}

// BenchmarkUnitOfEffort shows the time of a unit, in searches that try other devices up to five times.
func BenchmarkUnitOfEffort(b *testing.B) {
	for _, devices := range []int{8, 64, 512} {
		for _, refusals := range []int{0, 5} {
			b.Run(fmt.Sprintf("devices=%d/refusals=%d", devices, refusals), func(b *testing.B) {
				allocator, catalog := sizes(strings.Repeat("80 70 60 50 ", devices/4)).allocator(nil)
				claims, units := []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 4))}, 0
				for b.Loop() {
					effort := alone().Node()
					if results, err := allocator.Pick(b.Context(), onNode("n1"), claims, refusing(catalog, refusals), effort); results == nil || err != nil {
						b.Fatal(results, err)
					}
					units += effort.Used()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(units), "ns/unit")
			})
		}
	}
}

// refusing returns a quota that refuses this many results, and accepts the next one.
func refusing(catalog *Catalog, refusals int) Quota {
	quota := (&room{catalog: catalog}).quota()
	quota.Possible = func([]Slots) bool { return true }
	quota.Accepts = func([]resourceapi.AllocationResult) bool {
		refusals--
		return refusals < 0
	}
	return quota
}
