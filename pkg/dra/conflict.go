// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Conflict is a device that several claims have beyond what sharing allows. Schedulers that do not know of each other's
// allocations, such as this one and kube-scheduler or a former leader, can cause it.
type Conflict struct {
	Device DeviceID
	// Claims are in the order in which their allocations were seen.
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

// AllocatedTwice reports whether claims have a device beyond what sharing allows: one has all of it, or together they consume more
// of a capacity than the device has. The capacity of a device that is not published is not known.
func AllocatedTwice(id DeviceID, claims []*resourceapi.ResourceClaim, catalog *Catalog) bool {
	if len(claims) < 2 {
		return false
	}
	device, published := catalog.Device(id)
	consumed := map[resourceapi.QualifiedName]resource.Quantity{}
	for _, claim := range claims {
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			if device, free := DeviceOf(result); device != id || free {
				continue
			}
			if result.ShareID == nil {
				return true
			}
			for name, quantity := range result.ConsumedCapacity {
				sum := consumed[name]
				sum.Add(quantity)
				consumed[name] = sum
			}
		}
	}
	if !published {
		return false
	}
	for name, sum := range consumed {
		if capacity, has := device.Capacity[name]; has && sum.Cmp(capacity.Value) > 0 {
			return true
		}
	}
	return false
}

// DevicesOf returns the devices of a claim, which may be nil. Access for administration takes no device.
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

// DeviceOf returns a device of an allocation, and whether the claim has it for administration, which takes no device.
func DeviceOf(result *resourceapi.DeviceRequestAllocationResult) (DeviceID, bool) {
	return idOf(result), result.AdminAccess != nil && *result.AdminAccess
}
