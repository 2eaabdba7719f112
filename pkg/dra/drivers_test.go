// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// publishedBy reads the published objects of a driver from the manifests of the end-to-end tests.
func publishedBy(t *testing.T, file string) (classes []*resourceapi.DeviceClass, all []*resourceapi.ResourceSlice) {
	t.Helper()
	data, err := os.ReadFile("../../test/e2e/testdata/drivers/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		switch {
		case bytes.Contains(document, []byte("kind: DeviceClass")):
			class := &resourceapi.DeviceClass{}
			if err := yaml.UnmarshalStrict(document, class); err != nil {
				t.Fatal(err)
			}
			classes = append(classes, class)
		case bytes.Contains(document, []byte("kind: ResourceSlice")):
			slice := &resourceapi.ResourceSlice{}
			if err := yaml.UnmarshalStrict(document, slice); err != nil {
				t.Fatal(err)
			}
			all = append(all, slice)
		}
	}
	return classes, all
}

// split moves the counters of a driver's pool to a separate slice, like drivers since Kubernetes 1.35.
func split(all []*resourceapi.ResourceSlice, driver string) []*resourceapi.ResourceSlice {
	var counters *resourceapi.ResourceSlice
	for _, slice := range all {
		if slice.Spec.Driver != driver {
			continue
		}
		if counters == nil {
			counters = slice.DeepCopy()
			counters.Name, counters.Spec.Devices, counters.Spec.SharedCounters = "counters", nil, nil
			counters.Spec.Pool.ResourceSliceCount++
		}
		counters.Spec.SharedCounters = append(counters.Spec.SharedCounters, slice.Spec.SharedCounters...)
		slice.Spec.SharedCounters, slice.Spec.Pool = nil, counters.Spec.Pool
	}
	return append(all, counters)
}

func TestNVIDIAsGPUsAndPartitionsAreNeverHandedOutTogether(t *testing.T) {
	for _, c := range []struct {
		name     string
		separate bool
	}{{"Kubernetes 1.34", false}, {"Kubernetes 1.35, with counters in a slice of their own", true}} {
		t.Run(c.name, func(t *testing.T) {
			classes, all := publishedBy(t, "nvidia.yaml")
			if c.separate {
				all = split(all, "gpu.nvidia.com")
			}
			a := withEverything(NewCatalog(classes, all))
			pick := func(class, profile string) string {
				t.Helper()
				request := exactly("r", class, 1)
				if profile != "" {
					request = where(request, `device.attributes["gpu.nvidia.com"].profile == "`+profile+`"`)
				}
				picked := pick(t, a, "nvidia-0", request)
				if picked == nil {
					return ""
				}
				a.Take(picked)
				return picked.Devices.Results[0].Device
			}
			got := []string{
				pick("gpu.nvidia.com", ""), pick("mig.nvidia.com", "3g.40gb"), pick("mig.nvidia.com", "3g.40gb"), pick("mig.nvidia.com", "3g.40gb"),
				pick("mig.nvidia.com", "1g.10gb"), pick("gpu.nvidia.com", ""), pick("compute-domain-default-channel.nvidia.com", ""), pick("vfio.gpu.nvidia.com", ""),
			}
			want := []string{"gpu-0", "gpu-1-mig-3g40gb-9-0", "gpu-1-mig-3g40gb-9-4", "", "", "", "channel-0", "gpu-vfio-3"}
			if !slices.Equal(got, want) {
				t.Errorf("the devices are %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
			}
		})
	}
}

func TestConfigurationsOfClassAndClaimAreInTheAllocation(t *testing.T) {
	classes, all := publishedBy(t, "example.yaml")
	a := withEverything(NewCatalog(classes, all))
	asking := claim(exactly("r", "gpu.dra.example.com", 1))
	asking.Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: "gpu.dra.example.com"}}}}
	results, err := a.Pick(t.Context(), onNode("example-0"), []*resourceapi.ResourceClaim{asking}, Quota{Accepts: atMost(nil)}, alone().Node())
	if err != nil || results == nil {
		t.Fatal(results, err)
	}
	var sources []string
	for _, config := range results[0].Devices.Config {
		sources = append(sources, string(config.Source))
	}
	if !slices.Equal(sources, []string{resourceapi.AllocationConfigSourceClass, resourceapi.AllocationConfigSourceClaim}) {
		t.Errorf("the configurations come from %v", sources)
	}
}

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
