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

// checkCapacity returns an error if a request of a capacity is too large to count.
func checkCapacity(requests map[resourceapi.QualifiedName]resource.Quantity) error {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if quantity := requests[name]; quantity.AsApproximateFloat64() > largestCapacity {
			return fmt.Errorf("it requests <%s> of capacity %s, which is more than can be counted: request less", quantity.String(), name)
		}
	}
	return nil
}
