// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// modelled returns a slice of driver gpu with one device per model. Devices have the names of their models.
func modelled(models ...string) *resourceapi.ResourceSlice {
	slice := sliceOn("n1", "n1")
	slice.Spec.Driver = "gpu"
	for _, model := range models {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{
			Name: model, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
		})
	}
	return slice
}

func ofModel(model string) string { return fmt.Sprintf(`device.attributes["gpu"].model == %q`, model) }

// matchesIn returns the classes that a device of the slices in modelled matches.
func matchesIn(t *testing.T, m *Matcher, catalog *Catalog, device string) string {
	t.Helper()
	id := DeviceID{"gpu", "n1", device}
	published, found := catalog.Device(id)
	if !found {
		t.Fatalf("no device %s", id)
	}
	return strings.Join(m.Matching(id, published), " ")
}

func newMatcher() *Matcher { return NewMatcher(cel.NewCache(1, cel.Features{})) }

func TestADeviceMatchesAClassIfAllItsSelectorsHold(t *testing.T) {
	catalog := NewCatalog([]*resourceapi.DeviceClass{
		class("any"), class("gpu", `device.driver == "gpu"`), class("h100", `device.driver == "gpu"`, ofModel("h100")),
		class("other", `device.driver == "other"`), class("fails", `device.attributes["gpu"].missing == "x"`),
		class("broken", `device.`), {ObjectMeta: class("newer").ObjectMeta, Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{{}}}},
		class("unasked"),
	}, []*resourceapi.ResourceSlice{modelled("h100", "a100")})
	m := newMatcher()
	if !m.Use(catalog, []string{"any", "broken", "fails", "gpu", "h100", "lost", "newer", "other"}) {
		t.Error("classes that are new change nothing")
	}
	if got, want := matchesIn(t, m, catalog, "h100"), "any gpu h100"; got != want {
		t.Errorf("an H100 matches %q, want %q", got, want)
	}
	if got, want := matchesIn(t, m, catalog, "a100"), "any gpu"; got != want {
		t.Errorf("an A100 matches %q, want %q", got, want)
	}
	invalid := map[string]string{}
	for name, err := range m.Invalid {
		invalid[name] = err.Error()
	}
	if len(invalid) != 2 || invalid["broken"] == "" || invalid["newer"] != "selector #0 is of a kind that this scheduler does not know" {
		t.Errorf("classes that cannot be evaluated: %v", invalid)
	}
}

func TestMatchesFollowChangesOfClassesAndDevices(t *testing.T) {
	classes := []*resourceapi.DeviceClass{class("a", ofModel("h100")), class("b", ofModel("a100"))}
	first := modelled("h100", "a100")
	before := NewCatalog(classes, []*resourceapi.ResourceSlice{first})
	m := newMatcher()
	m.Use(before, []string{"a", "b"})
	if got := matchesIn(t, m, before, "h100") + "|" + matchesIn(t, m, before, "a100"); got != "a|b" {
		t.Fatalf("at first: %s", got)
	}

	if m.Use(before, []string{"a", "b"}) || m.Use(NewCatalog(classes, []*resourceapi.ResourceSlice{first}), []string{"a", "b"}) {
		t.Error("nothing has changed, but answers may have")
	}

	changed := NewCatalog([]*resourceapi.DeviceClass{class("a", ofModel("a100")), classes[1]}, []*resourceapi.ResourceSlice{first})
	if !m.Use(changed, []string{"a", "b"}) {
		t.Error("a class with other selectors changes nothing")
	}
	if got := matchesIn(t, m, changed, "h100") + "|" + matchesIn(t, m, changed, "a100"); got != "|a b" {
		t.Errorf("after a class changed: %s", got)
	}

	// The device keeps its name but becomes another model.
	renewed := modelled("h100", "a100")
	renewed.Spec.Devices[0].Attributes["model"] = resourceapi.DeviceAttribute{StringValue: ptr.To("a100")}
	republished := NewCatalog([]*resourceapi.DeviceClass{class("a", ofModel("a100")), classes[1]}, []*resourceapi.ResourceSlice{renewed})
	if m.Use(republished, []string{"a", "b"}) {
		t.Error("devices that are published anew change the answers for other devices")
	}
	if got := matchesIn(t, m, republished, "h100"); got != "a b" {
		t.Errorf("after the device changed: %s", got)
	}
	if !m.Use(republished, []string{"b"}) || m.Others("b") || !m.Others("c") {
		t.Error("a class that does not matter any more changes nothing")
	}
	if got := matchesIn(t, m, republished, "h100"); got != "b" {
		t.Errorf("after a class does not matter any more: %s", got)
	}
}

func TestMatchesAreForgottenWithTheDevice(t *testing.T) {
	classes := []*resourceapi.DeviceClass{class("a")}
	m := newMatcher()
	for range 3 {
		catalog := NewCatalog(classes, []*resourceapi.ResourceSlice{modelled("h100", "a100")})
		m.Use(catalog, []string{"a"})
		matchesIn(t, m, catalog, "h100")
	}
	if len(m.devices) != 1 {
		t.Errorf("%d devices are remembered, one is published", len(m.devices))
	}
	m.Use(NewCatalog(classes, nil), []string{"a"})
	if len(m.devices) != 0 {
		t.Errorf("%d devices are remembered, none is published", len(m.devices))
	}
}

func TestManyClassesMatchAtTheSameTime(t *testing.T) {
	var classes []*resourceapi.DeviceClass
	var names, want []string
	for i := range 130 {
		name := fmt.Sprintf("class-%03d", i)
		names = append(names, name)
		if i%2 == 0 {
			classes, want = append(classes, class(name, ofModel("h100"))), append(want, name)
		} else {
			classes = append(classes, class(name, ofModel("a100")))
		}
	}
	catalog := NewCatalog(classes, []*resourceapi.ResourceSlice{modelled("h100")})
	m := newMatcher()
	m.Use(catalog, names)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if got := matchesIn(t, m, catalog, "h100"); got != strings.Join(want, " ") {
				t.Errorf("the device matches %s", got)
			}
		})
	}
	running.Wait()
}

func BenchmarkMatching(b *testing.B) {
	classes := []*resourceapi.DeviceClass{class("gpu", `device.driver == "gpu"`), class("h100", `device.driver == "gpu"`, ofModel("h100"))}
	catalog := NewCatalog(classes, []*resourceapi.ResourceSlice{modelled("h100")})
	id := DeviceID{"gpu", "n1", "h100"}
	device, _ := catalog.Device(id)
	b.Run("first", func(b *testing.B) {
		m := newMatcher()
		m.Use(catalog, []string{"gpu", "h100"})
		for b.Loop() {
			clear(m.devices)
			m.Matching(id, device)
		}
	})
	b.Run("remembered", func(b *testing.B) {
		m := newMatcher()
		m.Use(catalog, []string{"gpu", "h100"})
		for b.Loop() {
			m.Matching(id, device)
		}
	})
}
