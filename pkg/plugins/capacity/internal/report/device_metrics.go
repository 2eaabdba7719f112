// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

var deviceGauges = append(gaugesOfDevices(metric.QueueDevices, deviceBalance), dimensionGauge{
	gaugeVector(metric.QueueDevices.Capacity),
	func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Limit(q, o)
		return limit.Amount, limit.Set
	},
})

var deviceCapacityGauges = gaugesOfDevices(metric.QueueDeviceCapacities, deviceCapacityBalance)

// gaugesOfDevices returns the metrics of device counts or capacities. balance says which accounts have series.
func gaugesOfDevices(of metric.CountedAmounts, balance func(ledger.Account) amountOf) []dimensionGauge {
	return []dimensionGauge{
		{gaugeVector(of.Capability), ownLimit},
		{gaugeVector(of.Deserved), ownDeserved},
		{gaugeVector(of.Guarantee), ownGuarantee},
		{gaugeVector(of.Allocated), balance(ledger.Allocated)},
		{gaugeVector(of.Inqueue), balance(ledger.Inqueue)},
		{gaugeVector(of.Request), balance(ledger.Request)},
	}
}

// deviceBalance has a series if the amount is not zero, or the queue has a limit.
func deviceBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		return amount, amount.Sign() != 0 || limits(l, q, o)
	}
}

// deviceCapacityBalance has series at queues that limit the capacity, and at the queues below them. The capacity is
// counted everywhere as soon as one queue limits it.
func deviceCapacityBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		_, _, limited := l.Nearest(q, o)
		return l.Balance(q, account, o), limited
	}
}
