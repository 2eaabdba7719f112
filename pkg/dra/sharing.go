// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"math"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// unlimited stands for any number of requests. No node has as many, and sums do not overflow.
const unlimited = 1 << 20

// requestsOf returns how many requests without a capacity a device can meet at the same time. For a device that allows multiple allocations
// (KEP-5075), its capacities determine the number.
func requestsOf(device *resourceapi.Device) int64 {
	if !ptr.Deref(device.AllowMultipleAllocations, false) {
		return 1
	}
	least := int64(unlimited)
	for _, capacity := range device.Capacity {
		least = min(least, sharesOf(capacity))
	}
	return least
}

// sharesOf returns the number of requests that a capacity is enough for. Each request takes the default of the policy or,
// without one, the whole capacity.
func sharesOf(capacity resourceapi.DeviceCapacity) int64 {
	taken := capacity.Value
	if policy := capacity.RequestPolicy; policy != nil && policy.Default != nil {
		taken = *policy.Default
	}
	if taken.Sign() <= 0 {
		return unlimited
	}
	return atMostUnlimited(capacity.Value, taken)
}

// atMostUnlimited returns how often a part fits into a whole. It rounds up if one more almost fits.
func atMostUnlimited(whole, part resource.Quantity) int64 {
	const tolerance = 1 + 1e-9
	times := whole.AsApproximateFloat64() / part.AsApproximateFloat64()
	return int64(math.Min(times*tolerance, unlimited))
}
