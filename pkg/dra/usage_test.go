package dra

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
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

// allocatedTo gives the claim one device for each request named.
func allocatedTo(c *resourceapi.ResourceClaim, requests ...string) *resourceapi.ResourceClaim {
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, r := range requests {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: r, Driver: "driver", Pool: "pool", Device: "dev"})
	}
	return c
}

func TestOf(t *testing.T) {
	either := firstAvailable("r", exactly("big", "h100", 2), exactly("small", "a100", 8), exactly("tiny", "h100", 1))
	adminResult := allocatedTo(claim(exactly("r", "h100", 1)), "r")
	adminResult.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
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
			want:  Usage{Devices: []Devices{{"h100", 2}, {"a100", 1}, {"h100", 3}}},
		},
		{
			name:  "the largest count",
			claim: claim(exactly("a", "h100", math.MaxInt64)),
			want:  Usage{Devices: []Devices{{"h100", math.MaxInt64}}},
		},
		{name: "admin access is free", claim: claim(admin(exactly("a", "h100", 8)))},
		{name: "all devices of a class are an open number", claim: claim(all("a", "h100")), want: Usage{Open: []string{"h100"}}},
		{
			name:  "alternatives count each class with its largest number",
			claim: claim(either),
			want:  Usage{Devices: []Devices{{"h100", 2}, {"a100", 8}}},
		},
		{
			name:  "an allocation counts what it holds",
			claim: allocatedTo(claim(either, all("rest", "b200")), "r/small", "r/small", "rest", "rest", "rest"),
			want:  Usage{Devices: []Devices{{"a100", 2}, {"b200", 3}}},
		},
		{name: "an allocation for admin access is free", claim: adminResult},
		{
			name:    "a request of a newer API",
			claim:   claim(resourceapi.DeviceRequest{Name: "new"}),
			wantErr: "ResourceClaim ns/claim: request new: it has neither exactly nor firstAvailable; is this scheduler older than the cluster's API?",
		},
		{
			name: "an allocation mode of a newer API",
			claim: claim(resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: "h100", AllocationMode: "Some",
			}}),
			wantErr: `ResourceClaim ns/claim: request r: its allocation mode "Some" is not known to this scheduler`,
		},
		{
			name:    "a count that is not positive",
			claim:   claim(firstAvailable("r", exactly("sub", "h100", -1))),
			wantErr: "ResourceClaim ns/claim: request r: alternative sub: its count -1 is not positive",
		},
		{
			name:    "an allocation for a request that is not there",
			claim:   allocatedTo(claim(exactly("r", "h100", 1)), "other"),
			wantErr: "ResourceClaim ns/claim: device driver/pool/dev is allocated for request other, which is not in its spec",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Of(c.claim)
			if message := errorText(err); message != c.wantErr {
				t.Errorf("error %q, want %q", message, c.wantErr)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
