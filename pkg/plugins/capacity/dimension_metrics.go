package capacity

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// dimensionGauge is a metric of queues for every dimension of some kinds.
type dimensionGauge struct {
	vector *prometheus.GaugeVec
	// value is false where the metric has nothing to say.
	value func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) (ledger.Amount, bool)
}

func ownLimit(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	limit := l.Capability(q, o)
	return limit.Amount, limit.Set
}

// dimensionValue is what a metric says; not set while it says nothing.
type dimensionValue struct {
	amount ledger.Amount
	set    bool
}

// gaugesOf returns the metrics of a kind; none for resources, which upstream's metrics are about.
func gaugesOf(kind ledger.Kind) []dimensionGauge {
	switch kind {
	case ledger.Card:
		return cardGauges
	case ledger.DeviceCount, ledger.DeviceCapacity:
		return deviceGauges
	default:
		return nil
	}
}

// labelsOf returns the labels of the metrics of a dimension.
func labelsOf(queue string, d ledger.Dimension) []string {
	switch d.Kind {
	case ledger.Card:
		return []string{queue, d.Name}
	case ledger.DeviceCapacity:
		return []string{queue, d.Name, d.Capacity}
	default:
		return []string{queue, d.Name, "count"}
	}
}

// publishDimensions updates the metrics that have changed.
func (p *plugin) publishDimensions(books *ledger.Ledger, name string, queue ledger.QueueID, last *published) {
	for o := range ledger.Ordinal(p.process.dimensions.Len()) {
		dimension := p.process.dimensions.Dimension(o)
		gauges := gaugesOf(dimension.Kind)
		if int(o) == len(last.dimensions) {
			last.dimensions = append(last.dimensions, make([]dimensionValue, len(gauges)))
		}
		for i := range gauges {
			amount, set := gauges[i].value(books, queue, o)
			now := &last.dimensions[o][i]
			if *now == (dimensionValue{amount, set}) {
				continue
			}
			*now = dimensionValue{amount, set}
			if labels := labelsOf(name, dimension); set {
				gauges[i].vector.WithLabelValues(labels...).Set(amount.Float(whole))
			} else {
				gauges[i].vector.DeleteLabelValues(labels...)
			}
		}
	}
}

// unpublishDimensions takes away what is said of a queue that is gone.
func unpublishDimensions(queue string) {
	for _, gauges := range [][]dimensionGauge{cardGauges, deviceGauges} {
		for i := range gauges {
			gauges[i].vector.DeletePartialMatch(prometheus.Labels{"queue": queue})
		}
	}
}
