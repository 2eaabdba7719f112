// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Conflict is a device with more claims than sharing allows. The cause may be schedulers that do not know each other's
// allocations, such as kube-scheduler or a former leader.
type Conflict struct {
	Device DeviceID
	// Claims lists the claims in the order in which their allocations were seen.
	Claims []*resourceapi.ResourceClaim
}

// String names the device and the claims.
func (c *Conflict) String() string {
	var names []string
	for _, claim := range c.Claims {
		names = append(names, claim.Namespace+"/"+claim.Name)
	}
	return fmt.Sprintf("device %s is allocated to ResourceClaims %s at the same time", c.Device, strings.Join(names, " and "))
}

// AllocatedTwice reports whether claims use a device beyond what sharing allows. One claim has the whole device, or the claims
// together consume more of a capacity than the device has. The capacity of an unpublished device is unknown.
func AllocatedTwice(id DeviceID, claims []*resourceapi.ResourceClaim, catalog *Catalog) bool {
	if len(claims) < 2 {
		return false
	}
	device, published := catalog.Device(id)
	sums := map[resourceapi.QualifiedName]resource.Quantity{}
	for _, claim := range claims {
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			if device, free := DeviceOf(result); device != id || free {
				continue
			}
			if result.ShareID == nil {
				return true
			}
			for name, quantity := range consumed(result) {
				sum := sums[name]
				sum.Add(quantity)
				sums[name] = sum
			}
		}
	}
	if !published {
		return false
	}
	for name, sum := range sums {
		if capacity, has := device.Capacity[name]; has && sum.Cmp(capacity.Value) > 0 {
			return true
		}
	}
	return false
}

// DevicesOf returns the devices of a claim, which may be nil. It leaves out administrative access, which takes no device.
func DevicesOf(claim *resourceapi.ResourceClaim) map[DeviceID]bool {
	if claim == nil || claim.Status.Allocation == nil {
		return nil
	}
	devices := make(map[DeviceID]bool, len(claim.Status.Allocation.Devices.Results))
	for i := range claim.Status.Allocation.Devices.Results {
		if id, free := DeviceOf(&claim.Status.Allocation.Devices.Results[i]); !free {
			devices[id] = true
		}
	}
	return devices
}

// DeviceOf returns a device of an allocation. It also reports whether the claim has administrative access, which takes no device.
func DeviceOf(result *resourceapi.DeviceRequestAllocationResult) (DeviceID, bool) {
	return idOf(result), result.AdminAccess != nil && *result.AdminAccess
}
