// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// amountOf converts a quantity to an amount. The error is ledger.ErrOverflow.
func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}

// Exact returns an equal quantity that its text represents exactly. Kubernetes has no suffix for numbers of 1e21 and more, and leaves it
// out: 1000E becomes the text 1.
func Exact(quantity resource.Quantity) resource.Quantity {
	if read, err := resource.ParseQuantity(quantity.String()); err == nil && read.Cmp(quantity) == 0 {
		return quantity
	}
	return *resource.NewDecimalQuantity(*quantity.AsDec(), resource.DecimalExponent)
}

// text returns quantity.String if this is exact.
func text(quantity resource.Quantity) string {
	exact := Exact(quantity)
	return exact.String()
}
