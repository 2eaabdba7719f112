// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Limits holds the limits in a queue's own spec and annotations. Dimensions that are not listed are not limited.
type Limits struct {
	Capability, Deserved, Guarantee ledger.Amounts
}

// Devices returns the device limits of a queue, from spec.dra and from the form of Volcano 1.15. Of two limits in one dimension, the
// smaller one holds. If guarantee <= deserved <= capability holds in both forms, it also holds in the result. The error names the invalid
// field or key. With the Queue CRD of this project, the API server rejects invalid fields. It accepts any key, because the schema of
// resource lists comes from upstream, and queues that Volcano 1.15 accepts must stay writable.
func Devices(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (Limits, error) {
	field, fieldErr := DevicesInField(queue, dimensions)
	keys, keysErr := KeysOf(queue).Limits(dimensions)
	if err := errors.Join(fieldErr, keysErr); err != nil {
		return Limits{}, err
	}
	return Limits{
		Capability: lower(field.Capability, keys.Capability), Deserved: lower(field.Deserved, keys.Deserved), Guarantee: lower(field.Guarantee, keys.Guarantee),
	}, nil
}

// DevicesInField returns the limits in spec.dra of a queue, or no limits if the queue has no spec.dra.
func DevicesInField(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (Limits, error) {
	if queue.Spec.DRA == nil {
		return Limits{}, nil
	}
	var limits Limits
	for _, field := range []struct {
		name   string
		quotas schedulingv1beta1.DeviceQuotas
		into   *ledger.Amounts
	}{
		{"capability", queue.Spec.DRA.Capability, &limits.Capability},
		{"deserved", queue.Spec.DRA.Deserved, &limits.Deserved},
		{"guarantee", queue.Spec.DRA.Guarantee, &limits.Guarantee},
	} {
		amounts, err := amountsOf(field.quotas, dimensions)
		if err != nil {
			return Limits{}, fmt.Errorf("its spec.dra.%s%w", field.name, err)
		}
		*field.into = amounts
	}
	return limits, nil
}

func amountsOf(quotas schedulingv1beta1.DeviceQuotas, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	var amounts ledger.Amounts
	for class, quota := range quotas {
		if quota.Count < 0 {
			return nil, fmt.Errorf("[%s].count is %d: set it to zero or more", class, quota.Count)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
		amounts = append(amounts, ledger.Entry{Dimension: o, Amount: ledger.Units(quota.Count)})
		for name, quantity := range quota.Capacity {
			amount, err := amountOf(quantity)
			if err != nil || amount.Sign() < 0 {
				return nil, fmt.Errorf("[%s].capacity[%s] is %s: set it to zero or more, and to less than 1e29", class, name, text(quantity))
			}
			o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: name})
			amounts = append(amounts, ledger.Entry{Dimension: o, Amount: amount})
		}
	}
	slices.SortFunc(amounts, byDimension)
	return amounts, nil
}

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
