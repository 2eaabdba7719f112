// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Limits are the limits in a queue's own spec and annotations. A dimension that is not listed is not limited.
type Limits struct {
	Capability, Deserved, Guarantee ledger.Amounts
}

// Devices returns the limits in spec.dra of a queue; none if the queue has no spec.dra. The error names the
// invalid field. With the Queue CRD of this project the API server rejects such queues.
func Devices(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (Limits, error) {
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
				return nil, fmt.Errorf("[%s].capacity[%s] is %s: set it to zero or more, and to less than 1e29", class, name, quantity.String())
			}
			o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: name})
			amounts = append(amounts, ledger.Entry{Dimension: o, Amount: amount})
		}
	}
	slices.SortFunc(amounts, byDimension)
	return amounts, nil
}

func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}
