// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// largestCapacity is the most that a claim may request of a capacity. No device has as much. Kubernetes' algorithm rounds requests in int64:
// of what is near its end, it makes less than nothing, and hands out the device (kubernetes 140441). To compare 1e999999999 takes it minutes.
const largestCapacity = 1 << 53

// checkCapacity returns an error if more is requested of a capacity than can be counted.
func checkCapacity(requests map[resourceapi.QualifiedName]resource.Quantity) error {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if quantity := requests[name]; quantity.AsApproximateFloat64() > largestCapacity {
			return fmt.Errorf("it requests <%s> of capacity %s, which is more than can be counted: request less", quantity.String(), name)
		}
	}
	return nil
}
