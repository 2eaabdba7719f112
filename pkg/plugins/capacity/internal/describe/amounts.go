// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// Dimension describes a dimension of the ledger.
func Dimension(d ledger.Dimension) v1alpha1.Dimension {
	return v1alpha1.Dimension{Kind: v1alpha1.Kind(d.Kind.Info().Shown), Name: d.Name, Capacity: d.Capacity}
}

// CompareDimensions puts devices and cards before resources.
func CompareDimensions(a, b v1alpha1.Dimension) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Capacity, b.Capacity))
}

// Quantity returns an amount as a quantity, without loss of precision.
func Quantity(d ledger.Dimension, a ledger.Amount) resource.Quantity {
	format := resource.DecimalSI
	if d.Binary() {
		format = resource.BinarySI
	}
	if whole, is := a.Whole(); is {
		return *resource.NewQuantity(whole, format)
	}
	quantity, err := resource.ParseQuantity(a.String())
	if err != nil {
		return resource.Quantity{} // a decimal number is a quantity
	}
	return quota.Exact(quantity)
}

// Amounts describes the amounts above zero, in a fixed order.
func (s *Session) Amounts(as ledger.Amounts) []v1alpha1.Amount {
	var described []v1alpha1.Amount
	for _, e := range as {
		if dimension := s.Snapshot.Dimensions.Dimension(e.Dimension); e.Amount.Sign() > 0 {
			described = append(described, v1alpha1.Amount{Dimension: Dimension(dimension), Amount: Quantity(dimension, e.Amount)})
		}
	}
	slices.SortFunc(described, func(a, b v1alpha1.Amount) int { return CompareDimensions(a.Dimension, b.Dimension) })
	return described
}

// Asked returns the minimum request of a pod, with the first of its alternatives.
func (s *Session) Asked(pod *demand.Pod) ledger.Amounts {
	var sum ledger.Amounts
	for _, part := range s.Snapshot.Asked(pod) {
		amounts := part.Amounts()
		if alternatives := part.Alternatives(); len(alternatives) > 0 {
			amounts = plus(amounts, alternatives[0])
		}
		sum = plus(sum, amounts)
	}
	return sum
}

// plus adds amounts. It returns nil if the sum overflows.
func plus(sum, amounts ledger.Amounts) ledger.Amounts {
	total, err := sum.PlusAll(amounts)
	if err != nil {
		return nil
	}
	return total
}
