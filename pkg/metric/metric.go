// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Type is a type of metrics.
type Type string

// The types of metrics in the list.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Metric describes a metric.
type Metric struct {
	Name string
	Type Type
	// Labels are the names of the labels that the exporter sets, in the order of their values in the code.
	Labels []string
	// Unit is the unit of the values.
	Unit string
	// Help is the meaning of the metric. The exporter publishes it, and the documentation repeats it.
	Help string
	// Note is additional documentation. It may have links, relative to docs/.
	Note string
	// Buckets are the buckets of a histogram.
	Buckets []float64
}

// GaugeOpts returns the options of a collector.
func (m *Metric) GaugeOpts() prometheus.GaugeOpts {
	return prometheus.GaugeOpts{Name: m.Name, Help: m.Help}
}

// CounterOpts returns the options of a collector.
func (m *Metric) CounterOpts() prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: m.Name, Help: m.Help}
}

// HistogramOpts returns the options of a collector.
func (m *Metric) HistogramOpts() prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}
}

// Desc returns the descriptor for a collector that creates its metrics on demand.
func (m *Metric) Desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// Group is a part of the list.
type Group struct {
	Title string
	// About describes the metrics of the group in a few sentences.
	About string
	// Foreign reports whether Volcano or Kubernetes defines the metrics.
	Foreign bool
	Metrics []Metric
}

// Groups returns the whole list.
func Groups() []Group {
	return slices.Concat(queueGroups(), schedulerGroups(), []Group{accountingGroup(), crossquotaGroup()}, dispatcherGroups(), []Group{{Title: "The programs", Metrics: []Metric{BuildInfo}}})
}
