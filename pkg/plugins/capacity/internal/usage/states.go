// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// states tells which amounts are idle and which are waited for.
func (o *observer) states() {
	books := o.snapshot.Held()
	for _, info := range o.snapshot.Queues {
		queue, found := books.Queue(info.Name)
		if !found {
			continue
		}
		for ordinal := range ledger.Ordinal(o.snapshot.Dimensions.Len()) {
			dimension := o.snapshot.Dimensions.Dimension(ordinal)
			if !o.recorder.records(dimension) {
				continue
			}
			allocated := books.Balance(queue, ledger.Allocated, ordinal)
			if guarantee := books.Guarantee(queue, ordinal); guarantee.Set {
				o.State(accounting.GuaranteedIdle, info.Name, dimension, left(guarantee.Amount, allocated))
			}
			if books.Leaf(queue) {
				o.State(accounting.Waited, info.Name, dimension, left(books.Balance(queue, ledger.Request, ordinal), allocated))
			}
		}
	}
}

// left returns the difference of two amounts, zero if it cannot be computed.
func left(whole, part ledger.Amount) ledger.Amount {
	amount, err := whole.Sub(part)
	if err != nil {
		return ledger.Amount{}
	}
	return amount
}
