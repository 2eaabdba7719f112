// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/big"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

// amountOf returns the value of a series, false if the queue has no series for the dimension.
type amountOf func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) (ledger.Amount, bool)

// dimensionGauge is a metric of queues for every dimension of a kind.
type dimensionGauge struct {
	vector *prometheus.GaugeVec
	value  amountOf
}

func gaugeVector(m metric.Metric) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(m.GaugeOpts(), m.Labels)
}

// dimensionValue is the value of a series. It is not set if there is no series.
type dimensionValue struct {
	amount ledger.Amount
	set    bool
}

// limitOf has a series if the queue has the limit.
func limitOf(of func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) ledger.Limit) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := of(l, q, o)
		return limit.Amount, limit.Set
	}
}

var ownLimit, ownDeserved, ownGuarantee = limitOf((*ledger.Ledger).Capability), limitOf((*ledger.Ledger).Deserved), limitOf((*ledger.Ledger).Guarantee)

// limits reports whether the queue itself limits a dimension, or deserves some of it.
func limits(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) bool {
	return l.Capability(q, o).Set || l.Deserved(q, o).Set
}

// gaugesOf has the metrics of each kind. Upstream's metrics cover resources.
var gaugesOf = map[ledger.Kind][]dimensionGauge{
	ledger.Resource: nil, ledger.Card: cardGauges, ledger.DeviceCount: deviceGauges, ledger.DeviceCapacity: deviceCapacityGauges,
}

// updateDimensions updates the changed series of devices and cards. It reports whether any has changed.
func (m *queueMetrics) updateDimensions(accounts *Accounts, name string, queue ledger.QueueID) bool {
	changed := false
	for o := range ledger.Ordinal(accounts.Dimensions.Len()) {
		dimension := accounts.Dimensions.Dimension(o)
		gauges, known := gaugesOf[dimension.Kind]
		if int(o) == len(m.dimensions) {
			if !known {
				klog.ErrorS(nil, "No metric of queues has such dimensions", "kind", dimension.Kind, "dimension", dimension)
			}
			m.dimensions = append(m.dimensions, make([]dimensionValue, len(gauges)))
		}
		for i := range gauges {
			amount, set := gauges[i].value(accounts.Held, queue, o)
			now := &m.dimensions[o][i]
			if *now == (dimensionValue{amount, set}) {
				continue
			}
			*now, changed = dimensionValue{amount, set}, true
			if labels := append([]string{name}, dimension.LabelValues()...); set {
				gauges[i].vector.WithLabelValues(labels...).Set(amount.Float(ledger.Whole))
			} else {
				gauges[i].vector.DeleteLabelValues(labels...)
			}
		}
	}
	return changed
}

// deleteDimensions deletes the series of a queue that is gone.
func deleteDimensions(queue string) {
	for _, gauges := range gaugesOf {
		for i := range gauges {
			gauges[i].vector.DeletePartialMatch(prometheus.Labels{"queue": queue})
		}
	}
}

var cardGauges = []dimensionGauge{
	{gaugeVector(metric.QueueCards.Capability), ownLimit},
	{gaugeVector(metric.QueueCards.Deserved), deservedCards},
	{gaugeVector(metric.QueueCards.Guarantee), ownGuarantee},
	{gaugeVector(metric.QueueCards.Allocated), nonzeroOrListed(ledger.Allocated)},
	{gaugeVector(metric.QueueCards.Request), nonzeroOrListed(ledger.Request)},
	{gaugeVector(metric.QueueCards.Either), nonzeroOrListed(ledger.Either)},
	{gaugeVector(metric.QueueCards.Capacity), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Limit(q, o)
		listed := limit.Amount.Sign() > 0 || limits(l, q, o) || l.Balance(q, ledger.Allocated, o).Sign() > 0
		return limit.Amount, limit.Set && listed // a card that no queue lists is zero everywhere
	}},
}

// deservedCards returns what the queue deserves. If the cards of the queue are not elastic, it returns the limit, as before
// cards could be elastic.
func deservedCards(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	if deserved, set := ownDeserved(l, q, o); set || l.DeservesCards(q) {
		return deserved, set
	}
	return ownLimit(l, q, o)
}

var clusterCards = gaugeVector(metric.ClusterCards)

// CardTotals updates the metric for cards whose number has changed, or that are gone.
func (r *Reporter) CardTotals(fleet *card.Fleet) {
	there := map[string]bool{}
	for name, total := range fleet.Totals {
		there[name] = true
		if last := r.cards[name]; last != nil && last.Cmp(total) == 0 {
			continue
		}
		r.cards[name] = new(big.Int).Set(total)
		value, _ := new(big.Float).SetInt(total).Float64()
		clusterCards.WithLabelValues(name).Set(value)
	}
	for name := range r.cards {
		if !there[name] {
			delete(r.cards, name)
			clusterCards.DeleteLabelValues(name)
		}
	}
}

var deviceGauges = append(gaugesOfDevices(metric.QueueDevices, nonzeroOrListed), dimensionGauge{
	gaugeVector(metric.QueueDevices.Capacity), limitOf((*ledger.Ledger).Limit),
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
		{gaugeVector(of.Either), balance(ledger.Either)},
	}
}

// nonzeroOrListed has a series if the amount is not zero, or the queue lists the card or class.
func nonzeroOrListed(account ledger.Account) amountOf {
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
