// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/devicequota/devicequota/pkg/ledger"
)

var deviceGauges = append(gaugesOfDevices("device_class", "Devices", ", by DeviceClass", deviceBalance, "queue", "device_class"),
	dimensionGauge{
		devicesVector("device_class", "capacity", "Devices that the queue can hold at most, given its own limit, those of the queues above it, and the guarantees of others, by DeviceClass", "queue", "device_class"),
		func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
			limit := l.Limit(q, o)
			return limit.Amount, limit.Set
		},
	})

var deviceCapacityGauges = gaugesOfDevices("device_capacity", "Capacity of devices, in the unit of the capacity,", ", by DeviceClass and name of the capacity", deviceCapacityBalance,
	"queue", "device_class", "capacity")

// gaugesOfDevices returns the metrics for what is counted of devices. Balance says which accounts have series.
func gaugesOfDevices(prefix, what, by string, balance func(ledger.Account) amountOf, labels ...string) []dimensionGauge {
	vector := func(name, help string) *prometheus.GaugeVec {
		return devicesVector(prefix, name, what+" "+help+by, labels...)
	}
	return []dimensionGauge{
		{vector("capability", "that the queue may hold at most by its own spec.dra"), ownLimit},
		{vector("deserved", "that the queue is owed: up to this it may take back what others have borrowed"), ownDeserved},
		{vector("guarantee", "that are kept free for the queue, used or not"), ownGuarantee},
		{vector("allocated", "that pods of the queue and of the queues below it hold"), balance(ledger.Allocated)},
		{vector("inqueue", "that jobs which have been admitted may still take"), balance(ledger.Inqueue)},
		{vector("request", "that pods hold or wait for, and that jobs without pods wait for"), balance(ledger.Request)},
	}
}

func devicesVector(prefix, name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{Name: "volcano_queue_" + prefix + "_" + name, Help: help}, labels)
}

// deviceBalance has a series if the amount is not zero or if the queue has a limit.
func deviceBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		return amount, amount.Sign() != 0 || limits(l, q, o)
	}
}

// deviceCapacityBalance has series at a queue that limits the capacity, and at the queues below it. The capacity is
// counted everywhere as soon as one queue limits it.
func deviceCapacityBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		_, _, limited := l.Nearest(q, o)
		return l.Balance(q, account, o), limited
	}
}
