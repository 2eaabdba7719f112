// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math"
	"math/big"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// amountOf converts a quantity to an amount. The error is ledger.ErrOverflow.
func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}

// roundedUp returns a quantity, rounded up to the unit in which Volcano counts the resource. Negative quantities become zero.
// Quantity.Value and MilliValue return the same if the number of units fits into an int64, but arbitrary numbers if not: 8Ei become -1000
// thousandths.
func roundedUp(quantity resource.Quantity, unit uint64) ledger.Amount {
	scale := resource.Milli
	if unit == whole {
		scale = 0
	}
	switch n, is := quantity.AsInt64(); {
	case quantity.Sign() < 0:
		return ledger.Amount{}
	case quantity.AsApproximateFloat64() > 1e29: // users may write 1e999999999, and exact arithmetic with it takes minutes
		return beyondAll
	case is:
		return ledger.Units(n)
	case quantity.CmpInt64(math.MaxInt64/1000) < 0:
		return ledger.Scaled(quantity.ScaledValue(scale), unit)
	}
	rounded := new(inf.Dec).Round(quantity.AsDec(), inf.Scale(-scale), inf.RoundUp)
	amount, err := ledger.FromDecimal(rounded.UnscaledBig(), int32(rounded.Scale()))
	if err != nil {
		return beyondAll
	}
	return amount
}

// beyondAll stands for quantities that the ledger cannot count. It is larger than any cluster.
var beyondAll, _ = ledger.FromDecimal(big.NewInt(1), -29)
