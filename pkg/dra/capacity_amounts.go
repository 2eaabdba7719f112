// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// largestCapacity is the maximum that a claim may request of a capacity. No device has as much. Kubernetes' algorithm rounds requests in
// int64. A request near its end overflows to a negative number, and the algorithm hands out the device (kubernetes 140441). A comparison with
// 1e999999999 takes it minutes.
const largestCapacity = 1 << 53

// checkCapacity returns an error if a request of a capacity is negative or too large to count. Kubernetes allows negative requests: a device without
// a policy for them would have more capacity than before, and so would a queue. A comparison with -1e999999999 takes minutes, too.
func checkCapacity(requests map[resourceapi.QualifiedName]resource.Quantity) error {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		switch quantity := requests[name]; {
		case quantity.Sign() < 0:
			return fmt.Errorf("it requests a negative amount of capacity %s: request 0 or more", name)
		case quantity.AsApproximateFloat64() > largestCapacity:
			return fmt.Errorf("it requests <%s> of capacity %s, which is more than can be counted: request less", quantity.String(), name)
		}
	}
	return nil
}

// consumed returns the capacity that an allocated request consumes. Negative amounts, which other schedulers may have granted, are left out.
func consumed(result *resourceapi.DeviceRequestAllocationResult) map[resourceapi.QualifiedName]resource.Quantity {
	isNegative := func(_ resourceapi.QualifiedName, quantity resource.Quantity) bool { return quantity.Sign() < 0 }
	for name, quantity := range result.ConsumedCapacity {
		if isNegative(name, quantity) {
			capacity := maps.Clone(result.ConsumedCapacity)
			maps.DeleteFunc(capacity, isNegative)
			return capacity
		}
	}
	return result.ConsumedCapacity
}
