// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTheConfigurationOfAClassNamesItsRequests checks the names, because drivers apply a configuration without names to the
// devices of all requests.
func TestTheConfigurationOfAClassNamesItsRequests(t *testing.T) {
	configured := func(name string) *resourceapi.DeviceClass {
		c := class(name)
		c.Spec.Config = []resourceapi.DeviceClassConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{
			Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: "driver", Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"class":%q}`, name)}},
		}}}
		return c
	}
	devices := []resourceapi.Device{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	catalog := NewCatalog([]*resourceapi.DeviceClass{configured("one"), configured("two"), class("plain")}, inSlices(nil, devices))
	c := claim(exactly("first", "one", 1), exactly("plain", "plain", 1), firstAvailable("choice", exactly("alternative", "two", 1)), exactly("last", "one", 1))
	results, err := withEverything(catalog).Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{c}, Quota{Accepts: atMost(nil)}, alone().Node())
	if err != nil || results == nil {
		t.Fatalf("%v, %v", results, err)
	}
	var got []string
	for _, config := range results[0].Devices.Config {
		got = append(got, fmt.Sprintf("%s %v %s", config.Source, config.Requests, config.Opaque.Parameters.Raw))
	}
	want := []string{`FromClass [first last] {"class":"one"}`, `FromClass [choice/alternative] {"class":"two"}`}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
