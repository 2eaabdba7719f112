// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
)

func TestANilCatalogIsEmpty(t *testing.T) {
	var c *Catalog
	if _, found := c.Class("h100"); found {
		t.Error("it has a class")
	}
	if _, found := c.Device(DeviceID{}); found || c.HasDriver("driver") || c.Card("h100") != "" {
		t.Error("it has a device")
	}
	if _, found := c.Extended("example.com/gpu"); found {
		t.Error("it has an extended resource")
	}
}

// offering returns a class of some age that offers an extended resource.
func offering(name string, age time.Duration, resource string) *resourceapi.DeviceClass {
	c := class(name)
	c.CreationTimestamp = metav1.NewTime(time.Unix(1_000_000, 0).Add(-age))
	c.Spec.ExtendedResourceName = ptr.To(resource)
	return c
}

func TestExtendedResources(t *testing.T) {
	c := NewCatalog([]*resourceapi.DeviceClass{
		offering("old", time.Hour, "example.com/gpu"), offering("b-new", 0, "example.com/gpu"), offering("a-new", 0, "example.com/gpu"), class("plain"),
	}, nil)
	for resource, want := range map[corev1.ResourceName]string{
		"example.com/gpu":                           "a-new",
		"deviceclass.resource.kubernetes.io/old":    "old",
		"deviceclass.resource.kubernetes.io/plain":  "plain",
		"deviceclass.resource.kubernetes.io/absent": "",
		"nvidia.com/gpu":                            "",
	} {
		if got, found := c.Extended(resource); got != want || found != (want != "") {
			t.Errorf("%s is offered by %q, want %q", resource, got, want)
		}
	}
}

func TestHasCapacity(t *testing.T) {
	var none *Catalog
	if c := published(); !c.HasCapacity("memory") || c.HasCapacity("flavour") || none.HasCapacity("memory") {
		t.Error("the capacities differ from those of the devices")
	}
}

func TestSameNames(t *testing.T) {
	card := func(name string) *Catalog {
		c := class("h100")
		c.Annotations = map[string]string{card.NameAnnotation: name}
		return NewCatalog([]*resourceapi.DeviceClass{c, class("a100")}, nil)
	}
	var none *Catalog
	if !card("H100").SameNames(card("H100")) || card("H100").SameNames(card("H200")) || card("H100").SameNames(none) || none.SameNames(card("H100")) {
		t.Error("wrong comparison of catalogs")
	}
}

func TestDevicesOfTheLatestGenerationCount(t *testing.T) {
	slice := func(generation int64, device string) *resourceapi.ResourceSlice {
		slice := sliceOn("n1", "pool", resourceapi.Device{Name: device})
		slice.Spec.Pool.Generation = generation
		return slice
	}
	for _, order := range [][]*resourceapi.ResourceSlice{{slice(1, "old"), slice(2, "new")}, {slice(2, "new"), slice(1, "old")}} {
		c := NewCatalog(nil, order)
		if _, found := c.Device(DeviceID{"driver", "pool", "new"}); !found {
			t.Error("the device of the latest generation is missing")
		}
		if _, found := c.Device(DeviceID{"driver", "pool", "old"}); found {
			t.Error("a device of an earlier generation is still there")
		}
	}
}

// TestSharedDevicesOfTheSameKindAreAlike: whichever of them a node gets, other nodes lose the same.
func TestSharedDevicesOfTheSameKindAreAlike(t *testing.T) {
	size := func(size string) map[resourceapi.QualifiedName]resourceapi.DeviceAttribute {
		return map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"size": {StringValue: &size}}
	}
	slice := func(pool string, spec resourceapi.ResourceSliceSpec) *resourceapi.ResourceSlice {
		spec.Driver, spec.Pool = "gpu.example.com", resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}
		return &resourceapi.ResourceSlice{Spec: spec}
	}
	c := NewCatalog(nil, []*resourceapi.ResourceSlice{
		slice("rack", resourceapi.ResourceSliceSpec{AllNodes: ptr.To(true), Devices: []resourceapi.Device{
			{Name: "a", Attributes: size("large")}, {Name: "b", Attributes: size("large")}, {Name: "c", Attributes: size("small")},
			{Name: "d", AllowMultipleAllocations: ptr.To(true)}, {Name: "e", AllowMultipleAllocations: ptr.To(true)},
		}}),
		slice("node", resourceapi.ResourceSliceSpec{NodeName: ptr.To("node"), Devices: []resourceapi.Device{{Name: "a", Attributes: size("large")}}}),
	})
	of := func(pool, name string) string { return c.Shared(DeviceID{"gpu.example.com", pool, name}) }
	if of("rack", "a") == "" || of("rack", "a") != of("rack", "b") {
		t.Error("equal devices are not alike")
	}
	if of("rack", "a") == of("rack", "c") || of("rack", "d") == of("rack", "e") {
		t.Error("devices with other attributes, or that others use in part, are alike")
	}
	if of("node", "a") != "" {
		t.Error("a device of one node is described")
	}
}
