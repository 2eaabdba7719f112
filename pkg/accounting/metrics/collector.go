// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

// Counters are the metrics of each measure. A series belongs to the first metric that has the labels of its dimension.
var Counters = map[accounting.Measure][]metric.Metric{
	accounting.Used: metric.UsedSeconds, accounting.GuaranteedIdle: {metric.GuaranteedIdleSeconds}, accounting.Waited: {metric.WaitedSeconds},
}

// Collector publishes the record of usage as counters. Each process that has the record publishes the same values.
type Collector struct {
	recorded func() *store.Recorded
	// label is the name of a metric label with the values of a pod label. It is empty for none.
	label    string
	through  *prometheus.Desc
	counters map[accounting.Measure][]counter
}

type counter struct {
	desc   *prometheus.Desc
	labels []string
}

// New returns a collector of the record. Recorded returns nil before the record is read. Label is the name of the pod label with recorded
// values, or empty.
func New(recorded func() *store.Recorded, label string) *Collector {
	c := &Collector{recorded: recorded, through: metric.UsageRecorded.Desc(), counters: map[accounting.Measure][]counter{}}
	for measure, list := range Counters {
		for _, m := range list {
			if label != "" && measure == accounting.Used {
				c.label = LabelName(label)
				m.Labels = append(slices.Clip(m.Labels), c.label)
			}
			c.counters[measure] = append(c.counters[measure], counter{m.Desc(), m.Labels})
		}
	}
	return c
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// LabelName returns the metric label for a pod label: label_team for team.
func LabelName(label string) string { return "label_" + notInLabels.ReplaceAllString(label, "_") }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, list := range c.counters {
		for _, of := range list {
			descriptions <- of.desc
		}
	}
	descriptions <- c.through
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	recorded := c.recorded()
	if recorded == nil {
		return // counters that another process has published must not decrease
	}
	metrics <- prometheus.MustNewConstMetric(c.through, prometheus.GaugeValue, float64(recorded.Through.Unix()))
	for series, amount := range c.totals(recorded) {
		made, err := c.metric(&series, amount)
		if err != nil {
			klog.ErrorS(err, "Failed to publish the usage of a queue", "queue", series.Queue)
			continue
		}
		metrics <- made
	}
}

// metric returns the metric of a series.
func (c *Collector) metric(series *accounting.Series, amount ledger.Amount) (prometheus.Metric, error) {
	has := map[string]string{"queue": series.Queue, "namespace": series.Namespace, c.label: series.Label}
	maps.Insert(has, series.Dimension.Labels)
	for _, of := range c.counters[series.Measure] {
		if slices.ContainsFunc(series.Dimension.Kind.Info().Labels, func(label string) bool { return !slices.Contains(of.labels, label) }) {
			continue
		}
		values := make([]string, len(of.labels))
		for i, label := range of.labels {
			values[i] = has[label]
		}
		return prometheus.NewConstMetric(of.desc, prometheus.CounterValue, amount.Float(ledger.Whole), values...)
	}
	return nil, fmt.Errorf("%s %s: no metric of what is %s has its labels", series.Dimension.Kind, series.Dimension, series.Measure)
}

// totals returns the total of each series. It drops the values of a label that was recorded formerly.
func (c *Collector) totals(recorded *store.Recorded) accounting.Sums {
	if c.label != "" {
		return recorded.Totals
	}
	sums := make(accounting.Sums, len(recorded.Totals))
	for series, amount := range recorded.Totals {
		series.Label = ""
		sums.Add(series, amount)
	}
	return sums
}
