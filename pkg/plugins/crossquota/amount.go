// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"math/big"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amount is a quantity of a resource: thousandths of a core for cpu, bytes or pieces of any other
// resource. Volcano's own Resource uses floats, which are not exact for large disks.
type amount int64

// maxAmount is larger than the amount of any node. The sum of 2000 of them, more than the pods of any node, does not overflow.
const maxAmount amount = 1 << 52

const milli = 1000

// atLeast returns the smallest amount that covers a quantity. It is used for requests.
//
// Large quantities are detected by their approximation first: the API server accepts 1e999999, exact
// arithmetic with such a quantity takes long, and its Value is wrong.
func atLeast(name corev1.ResourceName, q resource.Quantity) amount {
	units := q.AsApproximateFloat64()
	if name == corev1.ResourceCPU {
		units *= milli
	}
	switch {
	case q.Sign() <= 0:
		return 0
	case units >= float64(maxAmount):
		return maxAmount
	case name == corev1.ResourceCPU:
		return amount(q.MilliValue())
	default:
		return amount(q.Value())
	}
}

// atMost returns the largest amount that a quantity covers. It is used for limits.
func atMost(name corev1.ResourceName, q resource.Quantity) amount {
	a := atLeast(name, q)
	if exact := a.quantity(name); a > 0 && a < maxAmount && exact.Cmp(q) > 0 {
		return a - 1
	}
	return a
}

func (a amount) quantity(name corev1.ResourceName) *resource.Quantity {
	if name == corev1.ResourceCPU {
		return resource.NewMilliQuantity(int64(a), resource.DecimalSI)
	}
	return resource.NewQuantity(int64(a), resource.BinarySI)
}

// base returns the amount in the units of metrics: cores, bytes or pieces.
func (a amount) base(name corev1.ResourceName) float64 {
	if name == corev1.ResourceCPU {
		return float64(a) / milli
	}
	return float64(a)
}

// byteUnits are the units of sizes in messages, the largest first.
var byteUnits = []struct {
	name string
	size amount
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3},
}

// human returns the exact amount for messages: different amounts have different texts.
func (a amount) human(name corev1.ResourceName) string {
	switch {
	case name == corev1.ResourceCPU && a == milli:
		return "1 core"
	case name == corev1.ResourceCPU:
		return strconv.FormatFloat(float64(a)/milli, 'f', -1, 64) + " cores"
	case !inBytes(name):
		return strconv.FormatInt(int64(a), 10)
	}
	for _, unit := range byteUnits {
		// Two decimals at most.
		if hundredths := a % unit.size * 100; a >= unit.size && hundredths%unit.size == 0 {
			decimal := new(big.Rat).SetFrac64(int64(a), int64(unit.size)).FloatString(2)
			return strings.TrimSuffix(strings.TrimRight(decimal, "0"), ".") + " " + unit.name
		}
	}
	if a == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(int64(a), 10) + " bytes"
}

func inBytes(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || isHugePages(name)
}
