// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func publishing(driver string, names ...resourceapi.QualifiedName) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: driver, Pool: resourceapi.ResourcePool{Name: driver}}}
	for _, name := range names {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{
			Name: "d", Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{name: {Value: resource.MustParse("80Gi")}},
		})
	}
	return slice
}

// TestNoSpellingOfACapacityPassesAQuota abbreviates a.example.com as a, and so on. Drivers a and b have devices. Driver x is unknown.
func TestNoSpellingOfACapacityPassesAQuota(t *testing.T) {
	catalog := NewCatalog(nil, []*resourceapi.ResourceSlice{publishing("a", "memory"), publishing("b", "memory")})
	for _, c := range []struct {
		quota, driver string
		published     resourceapi.QualifiedName
		counts, lacks bool
	}{
		{quota: "memory", driver: "a", published: "memory", counts: true},
		{quota: "memory", driver: "a", published: "a/memory", counts: true},
		{quota: "a/memory", driver: "a", published: "memory", counts: true},
		{quota: "a/memory", driver: "a", published: "a/memory", counts: true},
		{quota: "memory", driver: "b", published: "memory", counts: true},
		{quota: "a/memory", driver: "b", published: "memory"},
		{quota: "a/memory", driver: "b", published: "b/memory"},
		{quota: "x/memory", driver: "a", published: "x/memory", counts: true},
		{quota: "x/memory", driver: "a", published: "memory", lacks: true},
		{quota: "memory", driver: "a", published: "x/memory", lacks: true},
		{quota: "a/memory", driver: "a", published: "cores", lacks: true},
		{quota: "a/memory", driver: "a", published: "x/memory", lacks: true},
		{quota: "Memory", driver: "a", published: "memory", lacks: true},
	} {
		d := Devices{
			Capacity: map[resourceapi.QualifiedName]resource.Quantity{c.published: resource.MustParse("80Gi")}, ID: DeviceID{Driver: c.driver},
		}
		_, counts := d.CapacityNamed(c.quota, catalog)
		if lacks := d.LacksCapacity(c.quota, catalog); counts != c.counts || lacks != c.lacks {
			t.Errorf("a device of %s with %s, and a quota of %s: counts %v, lacks %v, want %v, %v", c.driver, c.published, c.quota, counts, lacks, c.counts, c.lacks)
		}
	}
}

func TestADeviceWithTwoSpellingsOfACapacityCountsTheLargerAmount(t *testing.T) {
	d := Devices{ID: DeviceID{Driver: "a"}, Capacity: map[resourceapi.QualifiedName]resource.Quantity{
		"memory": resource.MustParse("80Gi"), "a/memory": resource.MustParse("40Gi"),
	}}
	for _, name := range []string{"memory", "a/memory"} {
		if got, _ := d.CapacityNamed(name, nil); got.Cmp(resource.MustParse("80Gi")) != 0 {
			t.Errorf("%s is %s", name, got.String())
		}
	}
}

// TestTheCapacityThatAClaimNamesCountsIfItCanBeNoOther covers devices before allocation. Their driver is known from published
// devices, or unknown.
func TestTheCapacityThatAClaimNamesCountsIfItCanBeNoOther(t *testing.T) {
	one, two := publishing("a", "memory"), publishing("b", "memory")
	for _, c := range []struct {
		name           string
		published      []*resourceapi.ResourceSlice
		claimed, quota string
		want           bool
	}{
		{"one driver", []*resourceapi.ResourceSlice{one}, "memory", "memory", true},
		{"one driver, and its domain in the quota", []*resourceapi.ResourceSlice{one}, "memory", "a/memory", true},
		{"one driver, and another domain in the quota", []*resourceapi.ResourceSlice{one}, "memory", "b/memory", false},
		{"one driver, which writes its domain", []*resourceapi.ResourceSlice{publishing("a", "a/memory")}, "a/memory", "memory", true},
		{"two drivers", []*resourceapi.ResourceSlice{one, two}, "memory", "memory", true},
		{"two drivers, and the domain of one in the quota", []*resourceapi.ResourceSlice{one, two}, "memory", "a/memory", false},
		{"nothing is published", nil, "memory", "a/memory", true},
		{"nothing is published, and the claim writes the domain", nil, "a/memory", "memory", true},
		{"nothing is published, and the domains differ", nil, "a/memory", "b/memory", false},
	} {
		d := Devices{Capacity: map[resourceapi.QualifiedName]resource.Quantity{resourceapi.QualifiedName(c.claimed): resource.MustParse("1Gi")}}
		if _, got := d.CapacityNamed(c.quota, NewCatalog(nil, c.published)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if c := NewCatalog(nil, []*resourceapi.ResourceSlice{one, two}); !c.CapacityOfSeveralDrivers("memory") || c.CapacityOfSeveralDrivers("cores") {
		t.Error("wrong about capacities of several drivers")
	}
	if NewCatalog(nil, []*resourceapi.ResourceSlice{one, publishing("a", "a/memory")}).CapacityOfSeveralDrivers("memory") {
		t.Error("two spellings are taken for two drivers")
	}
}
