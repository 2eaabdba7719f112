// SPDX-License-Identifier: Apache-2.0

package report

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// waitingIn returns the amounts that workloads wait for in each queue and the queues below it, after the decisions of the cycle.
func waitingIn(books *ledger.Ledger, snapshot *framework.Snapshot, decisions []Decision) map[string]ledger.Amounts {
	granted := map[types.UID]bool{}
	for i := range decisions {
		if k := decisions[i].Kind; k == KindGranted || k == KindGrowthGranted {
			granted[decisions[i].Workload.Binding.UID] = true
		}
	}
	own := make(map[string]*ledger.Amounts, len(snapshot.Queues))
	for _, w := range snapshot.Workloads {
		if !w.Waits() && !w.Grows() || w.Err != nil || granted[w.Binding.UID] {
			continue
		}
		sum := own[w.Queue]
		if sum == nil {
			sum = &ledger.Amounts{}
			own[w.Queue] = sum
		}
		*sum = plus(*sum, beyondGrant(w, snapshot.Dimensions))
	}
	all := map[string]ledger.Amounts{}
	for queue, amounts := range own {
		q, found := books.Queue(queue)
		if !found {
			continue
		}
		for _, name := range books.Path(q) {
			all[name] = plus(all[name], *amounts)
		}
	}
	return all
}

// beyondGrant returns the needs of a workload beyond its grant.
func beyondGrant(w *framework.Workload, dimensions *ledger.Dimensions) ledger.Amounts {
	if w.State.Grant == nil {
		return w.Needs.All
	}
	var granted ledger.Amounts
	for _, a := range w.State.Grant.Amounts {
		if o, known := dimensions.Known(a.Dimension); known {
			granted = append(granted, ledger.Entry{Dimension: o, Amount: a.Amount})
		}
	}
	return w.Needs.Stays.Beyond(granted, nil)
}

// plus adds amounts to a sum. It skips an amount that would overflow, because the sum is only for people.
func plus(sum, amounts ledger.Amounts) ledger.Amounts {
	for _, e := range amounts {
		if more, err := sum.Plus(e.Dimension, e.Amount); err == nil {
			sum = more
		}
	}
	return sum
}
