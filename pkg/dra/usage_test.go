// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func claim(requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim", UID: "claim-uid"},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
}

func exactly(name, class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

func all(name, class string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll,
	}}
}

func admin(r resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	r.Exactly.AdminAccess = ptr.To(true)
	return r
}

func firstAvailable(name string, alternatives ...resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: name}
	for _, a := range alternatives {
		r.FirstAvailable = append(r.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: a.Name, DeviceClassName: a.Exactly.DeviceClassName, AllocationMode: a.Exactly.AllocationMode, Count: a.Exactly.Count,
		})
	}
	return r
}

// allocatedTo allocates one device to the claim for each named request.
func allocatedTo(c *resourceapi.ResourceClaim, requests ...string) *resourceapi.ResourceClaim {
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, r := range requests {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: r, Driver: "driver", Pool: "pool", Device: "dev"})
	}
	return c
}

// published returns a catalog with the classes h100, a100 and b200, and with the devices dev (80Gi of memory) and part (10Gi) of a driver.
func published() *Catalog {
	device := func(name, memory string) resourceapi.Device {
		return resourceapi.Device{Name: name, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}}
	}
	return NewCatalog([]*resourceapi.DeviceClass{class("h100"), class("a100"), class("b200")},
		[]*resourceapi.ResourceSlice{sliceOn("node", "pool", device("dev", "80Gi"), device("part", "10Gi"))})
}

// sliceOn returns the only slice of a pool, with devices of one node.
func sliceOn(node, pool string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}, Spec: resourceapi.ResourceSliceSpec{
		Driver: "driver", NodeName: ptr.To(node), Pool: resourceapi.ResourcePool{Name: pool, ResourceSliceCount: 1}, Devices: devices,
	}}
}

// class returns a class of the devices for which all expressions hold.
func class(name string, expressions ...string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{Selectors: selectors(expressions...)}}
}

func selectors(expressions ...string) []resourceapi.DeviceSelector {
	var all []resourceapi.DeviceSelector
	for _, e := range expressions {
		all = append(all, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: e}})
	}
	return all
}

// where adds selectors to a request.
func where(request resourceapi.DeviceRequest, expressions ...string) resourceapi.DeviceRequest {
	request.Exactly.Selectors = append(request.Exactly.Selectors, selectors(expressions...)...)
	return request
}

type capacities = map[resourceapi.QualifiedName]resource.Quantity

func memory(quantity string) capacities {
	return capacities{"memory": resource.MustParse(quantity)}
}

func TestRequested(t *testing.T) {
	sized := exactly("r", "h100", 3)
	sized.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: memory("10Gi")}
	for _, c := range []struct {
		name    string
		claim   *resourceapi.ResourceClaim
		want    Usage
		wantErr string
	}{
		{name: "no requests", claim: claim()},
		{
			name:  "several requests, one class twice",
			claim: claim(exactly("a", "h100", 2), exactly("b", "a100", 1), exactly("c", "h100", 3)),
			want:  Usage{Devices: []Devices{{Class: "h100", Count: 2}, {Class: "a100", Count: 1}, {Class: "h100", Count: 3}}},
		},
		{name: "the largest count", claim: claim(exactly("a", "h100", math.MaxInt64)), want: Usage{Devices: []Devices{{Class: "h100", Count: math.MaxInt64}}}},
		{name: "administrative access is free", claim: claim(admin(exactly("a", "h100", 8)), admin(all("b", "h100")))},
		{name: "all devices of a class count as at least one", claim: claim(all("a", "h100")), want: Usage{Devices: []Devices{{Class: "h100", Count: 1}}, Least: true}},
		{name: "capacity is per device", claim: claim(sized), want: Usage{Devices: []Devices{{Class: "h100", Count: 3, Capacity: memory("10Gi")}}}},
		{
			name:  "alternatives are a choice",
			claim: claim(exactly("a", "b200", 1), firstAvailable("r", exactly("big", "h100", 2), exactly("small", "a100", 8))),
			want: Usage{Devices: []Devices{{Class: "b200", Count: 1}},
				Choices: [][]Devices{{{Class: "h100", Count: 2}, {Class: "a100", Count: 8}}}},
		},
		{
			name: "a request of a newer API", claim: claim(resourceapi.DeviceRequest{Name: "new"}),
			wantErr: "request new: it has neither exactly nor firstAvailable: it may come from an API that is newer than this scheduler; use one of the two, or update the scheduler",
		},
		{
			name: "an allocation mode of a newer API",
			claim: claim(resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: "h100", AllocationMode: "Some",
			}}),
			wantErr: `request r: its allocation mode "Some" is not known to this scheduler: use ExactCount or All, or update the scheduler`,
		},
		{
			name: "a count that is not positive", claim: claim(firstAvailable("r", exactly("sub", "h100", -1))),
			wantErr: "request r: alternative sub: its count -1 is not positive",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Requested(&c.claim.Spec)
			compare(t, got, err, c.want, c.wantErr)
		})
	}
}

func TestAllocated(t *testing.T) {
	either := firstAvailable("r", exactly("big", "h100", 2), exactly("small", "a100", 8))
	adminResult := allocatedTo(claim(exactly("r", "h100", 1)), "r")
	adminResult.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
	shared := allocatedTo(claim(exactly("r", "h100", 1)), "r")
	shared.Status.Allocation.Devices.Results[0].ConsumedCapacity = memory("40Gi")
	gone := allocatedTo(claim(exactly("r", "h100", 1)), "r")
	gone.Status.Allocation.Devices.Results[0].Device = "gone"
	catalog, dev := published(), DeviceID{"driver", "pool", "dev"}
	device := func(class, size string) Devices {
		return Devices{Class: class, Count: 1, Capacity: memory(size), ID: dev, Published: catalog.devices[dev]}
	}
	for _, c := range []struct {
		name    string
		claim   *resourceapi.ResourceClaim
		want    Usage
		wantErr string
	}{
		{
			name: "each device by its request's class, with all its capacity", claim: allocatedTo(claim(either, all("rest", "b200")), "r/small", "rest", "rest"),
			want: Usage{Devices: []Devices{device("a100", "80Gi"), device("b200", "80Gi"), device("b200", "80Gi")}},
		},
		{name: "devices for administrative access are free", claim: adminResult},
		{name: "of a shared device, the consumed capacity", claim: shared, want: Usage{Devices: []Devices{device("h100", "40Gi")}}},
		{
			name: "a device that is no longer published", claim: gone,
			want: Usage{Devices: []Devices{{Class: "h100", Count: 1, ID: DeviceID{"driver", "pool", "gone"}}}, Gone: []DeviceID{{"driver", "pool", "gone"}}},
		},
		{
			name: "a device for a request that is not in the spec", claim: allocatedTo(claim(exactly("r", "h100", 1)), "other"),
			wantErr: "device driver/pool/dev is allocated for request other, which is not in its spec",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Allocated(&c.claim.Spec, c.claim.Status.Allocation, catalog)
			compare(t, got, err, c.want, c.wantErr)
		})
	}
}

func compare(t *testing.T, got Usage, err error, want Usage, wantErr string) {
	t.Helper()
	if message := errorText(err); message != wantErr {
		t.Errorf("error %q, want %q", message, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
