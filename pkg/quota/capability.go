package quota

import (
	"fmt"
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Capability returns the queue's hard upper bounds for devices: for each class that
// spec.dra.capability lists, its count. A queue without any returns none. The error names
// the field that makes no sense; the API server lets none such in with the Queue CRD of
// this project.
func Capability(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	if queue.Spec.DRA == nil {
		return nil, nil
	}
	var limits ledger.Amounts
	for class, quota := range queue.Spec.DRA.Capability {
		if quota.Count < 0 {
			return nil, fmt.Errorf("its spec.dra.capability[%s].count is %d: set it to zero or more", class, quota.Count)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
		limits = append(limits, ledger.Entry{Dimension: o, Amount: ledger.Units(quota.Count)})
	}
	slices.SortFunc(limits, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return limits, nil
}
