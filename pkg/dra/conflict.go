// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"iter"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
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
		for used, result := range Used(claim.Status.Allocation) {
			if used != id {
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

// DevicesOf returns the devices that a claim uses. The claim may be nil.
func DevicesOf(claim *resourceapi.ResourceClaim) map[DeviceID]bool {
	if claim == nil || claim.Status.Allocation == nil {
		return nil
	}
	devices := make(map[DeviceID]bool, len(claim.Status.Allocation.Devices.Results))
	for id := range Used(claim.Status.Allocation) {
		devices[id] = true
	}
	return devices
}

// Used returns the devices that an allocation uses, with their results. It leaves out administrative access, which uses no device.
func Used(allocation *resourceapi.AllocationResult) iter.Seq2[DeviceID, *resourceapi.DeviceRequestAllocationResult] {
	return func(yield func(DeviceID, *resourceapi.DeviceRequestAllocationResult) bool) {
		for i := range allocation.Devices.Results {
			result := &allocation.Devices.Results[i]
			if !ptr.Deref(result.AdminAccess, false) && !yield(idOf(result), result) {
				return
			}
		}
	}
}
