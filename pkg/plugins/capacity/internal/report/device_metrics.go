// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/devicequota/devicequota/pkg/ledger"
)

var deviceGauges = []dimensionGauge{
	{deviceVector("capability", "Most that the queue itself may hold"), ownLimit},
	{deviceVector("deserved", "Fair share of the queue"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Deserved(q, o)
		return limit.Amount, limit.Set
	}},
	{deviceVector("guarantee", "What is reserved for the queue"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Guarantee(q, o)
		return limit.Amount, limit.Set
	}},
	{deviceVector("allocated", "What pods of the queue and of its descendants hold"), deviceBalance(ledger.Allocated)},
	{deviceVector("inqueue", "What jobs that have been let in may still take"), deviceBalance(ledger.Inqueue)},
	{deviceVector("request", "What pods hold or wait for"), deviceBalance(ledger.Request)},
}

func deviceVector(name, help string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{Name: "volcano_queue_device_class_" + name, Help: help + ", by DeviceClass and dimension"},
		[]string{"queue", "device_class", "dimension"})
}

// deviceBalance has a series if the amount is not zero or if the queue has a limit. A capacity is counted
// everywhere as soon as one queue limits it, but has series only at that queue and its descendants.
func deviceBalance(account ledger.Account) func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) (ledger.Amount, bool) {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		if l.Dimension(o).Kind == ledger.DeviceCapacity {
			_, _, limited := l.Nearest(q, o)
			return amount, limited
		}
		return amount, amount.Sign() != 0 || l.Capability(q, o).Set || l.Deserved(q, o).Set
	}
}
