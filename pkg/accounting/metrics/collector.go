// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

// Collector publishes what the record of usage says as counters. They say the same whichever process has the record.
type Collector struct {
	recorded func() *store.Recorded
	// label says that the record has the values of a label.
	label bool
	used  map[ledger.Kind]*prometheus.Desc
	// idle and waited have the same labels for all kinds.
	idle, waited, through *prometheus.Desc
}

// New returns a collector of what the record says, which is nil before it has been read. Label is the name of the label by whose values usage is recorded, empty
// for none.
func New(recorded func() *store.Recorded, label string) *Collector {
	used := func(m metric.Metric) *prometheus.Desc {
		if label != "" {
			m.Labels = append(slices.Clip(m.Labels), LabelName(label))
		}
		return m.Desc()
	}
	return &Collector{
		recorded: recorded, label: label != "",
		used: map[ledger.Kind]*prometheus.Desc{
			ledger.DeviceCount: used(metric.DeviceSeconds), ledger.DeviceCapacity: used(metric.DeviceCapacitySeconds),
			ledger.Card: used(metric.CardSeconds), ledger.Resource: used(metric.ResourceSeconds),
		},
		idle: metric.GuaranteedIdleSeconds.Desc(), waited: metric.WaitedSeconds.Desc(), through: metric.UsageRecorded.Desc(),
	}
}

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// LabelName returns the label of metrics that has the values of a label of pods: label_team for team.
func LabelName(label string) string { return "label_" + notInLabels.ReplaceAllString(label, "_") }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, used := range c.used {
		descriptions <- used
	}
	descriptions <- c.idle
	descriptions <- c.waited
	descriptions <- c.through
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	recorded := c.recorded()
	if recorded == nil {
		return // what another process has published must not decrease
	}
	metrics <- prometheus.MustNewConstMetric(c.through, prometheus.GaugeValue, float64(recorded.Through.Unix()))
	for series, amount := range c.totals(recorded) {
		var description *prometheus.Desc
		var labels []string
		switch series.Measure {
		case accounting.Used:
			description, labels = c.used[series.Dimension.Kind], append(labelsOf(&series), series.Namespace)
			if c.label {
				labels = append(labels, series.Label)
			}
		case accounting.GuaranteedIdle:
			description, labels = c.idle, allLabelsOf(&series)
		default:
			description, labels = c.waited, allLabelsOf(&series)
		}
		if made, err := prometheus.NewConstMetric(description, prometheus.CounterValue, amount.Float(ledger.Whole), labels...); err == nil {
			metrics <- made
		}
	}
}

// totals returns what each series comes to. The record still has the values of a label that was recorded before.
func (c *Collector) totals(recorded *store.Recorded) accounting.Sums {
	sums := make(accounting.Sums, len(recorded.Totals))
	for i := range recorded.Totals {
		series := recorded.Totals[i].Series
		if !c.label {
			series.Label = ""
		}
		sums.Add(series, recorded.Totals[i].Amount)
	}
	return sums
}

// labelsOf returns the label values of a metric that has one kind of dimensions.
func labelsOf(series *accounting.Series) []string {
	if series.Dimension.Kind == ledger.DeviceCapacity {
		return []string{series.Queue, series.Dimension.Name, series.Dimension.Capacity}
	}
	return []string{series.Queue, series.Dimension.Name}
}

// allLabelsOf returns the label values of a metric that has all kinds of dimensions.
func allLabelsOf(series *accounting.Series) []string {
	labels := []string{series.Queue, "", "", "", ""}
	switch d := series.Dimension; d.Kind {
	case ledger.Card:
		labels[3] = d.Name
	case ledger.Resource:
		labels[4] = d.Name
	default:
		labels[1], labels[2] = d.Name, d.Capacity
	}
	return labels
}
