// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Usage is what `kubectl get queue` shows of a queue. Both are empty if the queue neither uses nor limits any.
type Usage struct {
	Devices, Cards string
}

// usageOf returns the usage of a queue, which changes only if a metric of the queue does.
func usageOf(accounts *Accounts, queue ledger.QueueID) Usage {
	return Usage{Devices: accounts.usage(queue, ledger.DeviceCount), Cards: accounts.usage(queue, ledger.Card)}
}

func (a *Accounts) usage(queue ledger.QueueID, kind ledger.Kind) string {
	var entries []string
	for o := range ledger.Ordinal(a.Dimensions.Len()) {
		if d := a.Dimensions.Dimension(o); d.Kind == kind {
			if entry := a.usageIn(queue, o, d); entry != "" {
				entries = append(entries, entry)
			}
		}
	}
	slices.Sort(entries)
	return list(entries)
}

// usageIn returns, for example, "nvidia-h100 6/8 (2 waiting)".
func (a *Accounts) usageIn(queue ledger.QueueID, o ledger.Ordinal, d ledger.Dimension) string {
	used := a.Held.Balance(queue, ledger.Allocated, o)
	// What releasing pods still hold is used, but nobody waits for it any more.
	waiting, err := a.Ledger.Balance(queue, ledger.Request, o).Sub(a.Ledger.Balance(queue, ledger.Allocated, o))
	waits := err == nil && waiting.Sign() > 0
	if used.Sign() == 0 && !waits && !limits(a.Ledger, queue, o) {
		return ""
	}
	text := d.Name + " " + d.Format(used)
	if limit := a.Ledger.Limit(queue, o); limit.Set {
		text += "/" + d.Format(limit.Amount)
	}
	if waits {
		text += fmt.Sprintf(" (%s waiting)", d.Format(waiting))
	}
	return text
}
