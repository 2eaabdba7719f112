// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

// usageOf returns the usage of a queue. It changes only if a metric of the queue does.
func usageOf(accounts *Accounts, queue ledger.QueueID) queueusage.Usage {
	entries := make([]queueusage.Entry, 0, accounts.Dimensions.Len())
	for o := range ledger.Ordinal(accounts.Dimensions.Len()) {
		// What releasing pods still hold is used, but no longer requested.
		waiting, _ := accounts.Ledger.Balance(queue, ledger.Request, o).Sub(accounts.Ledger.Balance(queue, ledger.Allocated, o)) // both are sums of the ledger
		entries = append(entries, queueusage.Entry{
			Dimension: accounts.Dimensions.Dimension(o), Used: accounts.Held.Balance(queue, ledger.Allocated, o), Waiting: waiting,
			Limit: accounts.Ledger.Limit(queue, o), Listed: limits(accounts.Ledger, queue, o),
		})
	}
	return queueusage.Of(entries)
}
