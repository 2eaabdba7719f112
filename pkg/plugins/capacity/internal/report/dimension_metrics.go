// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/klog/v2"

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

func ownLimit(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	limit := l.Capability(q, o)
	return limit.Amount, limit.Set
}

func ownDeserved(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	limit := l.Deserved(q, o)
	return limit.Amount, limit.Set
}

func ownGuarantee(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	limit := l.Guarantee(q, o)
	return limit.Amount, limit.Set
}

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
