// SPDX-License-Identifier: Apache-2.0

package requests

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Value returns a quantity in Volcano's unit of a resource: bytes of memory, number of pods, and thousandths of all others. It accepts sums
// that are not Countable.
func Value(name corev1.ResourceName, quantity resource.Quantity) float64 {
	const thousandths = 1000
	whole := name == corev1.ResourceMemory || name == corev1.ResourcePods
	switch {
	case !Countable(quantity) && whole:
		return quantity.AsApproximateFloat64()
	case !Countable(quantity):
		return quantity.AsApproximateFloat64() * thousandths
	case whole:
		return float64(quantity.Value())
	default:
		return float64(quantity.MilliValue())
	}
}
