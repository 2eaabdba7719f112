// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/metric"
)

var (
	shareDesc     = metric.DispatcherShare.Desc()
	workloadsDesc = metric.DispatcherWorkloads.Desc()
	stillRunsDesc = metric.DispatcherStillRuns.Desc()
)

// Metrics are the metrics of the dispatcher. The series of queues are made from the last cycle when they are scraped. They cost a
// cycle nothing, and no series outlives its queue. Metrics are safe for concurrent use.
type Metrics struct {
	decisions *prometheus.CounterVec
	cycles    prometheus.Histogram
	patches   *prometheus.CounterVec

	mu        sync.Mutex
	usage     Usage
	workloads map[string]*workloadCounts
	// stillRun is the number of workloads in each queue that run although they should have ended.
	stillRun map[string]int
}

// NewMetrics makes and registers metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(metric.DispatcherDecisions.CounterOpts(), metric.DispatcherDecisions.Labels),
		cycles:    prometheus.NewHistogram(metric.DispatcherCycleDuration.HistogramOpts()),
		patches:   prometheus.NewCounterVec(metric.DispatcherPatches.CounterOpts(), metric.DispatcherPatches.Labels),
	}
	for _, c := range []prometheus.Collector{m, m.decisions, m.cycles, m.patches} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Patch is the purpose of a request that changes an object. It is a label of metrics. A patch that carries out a decision has the
// kind of the decision: see Decision.Patch.
type Patch string

// The other patches.
const (
	// PatchBookkeeping removes the finalizer of a binding, forgets its grants in vain, or notes where it runs.
	PatchBookkeeping Patch = "bookkeeping"
	// PatchHoldGrowth holds a workload that grows. The webhook sends it.
	PatchHoldGrowth  Patch = "hold_growth"
	PatchQueueStatus Patch = "queue_status"
	PatchQueueUsage  Patch = "queue_usage"
)

// Patched counts a request that changes an object.
func (m *Metrics) Patched(patch Patch, err error) {
	result := "success"
	switch {
	case apierrors.IsConflict(err):
		result = "conflict"
	case err != nil:
		result = "failure"
	}
	m.patches.WithLabelValues(string(patch), result).Inc()
}

// decided counts a decision.
func (m *Metrics) decided(kind Kind, queue string) {
	m.decisions.WithLabelValues(string(kind), queue).Inc()
}

// cycle records the results of a cycle.
func (m *Metrics) cycle(snapshot *framework.Snapshot, workloads map[string]*workloadCounts, stillRun map[string]int, usage Usage, duration time.Duration) {
	m.cycles.Observe(duration.Seconds())
	m.mu.Lock()
	before := m.workloads
	m.usage, m.workloads, m.stillRun = usage, workloads, stillRun
	m.mu.Unlock()
	for queue := range before {
		if queue != noQueue && snapshot.Queues[queue] == nil {
			m.decisions.DeletePartialMatch(prometheus.Labels{"queue": queue})
		}
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	out <- shareDesc
	out <- workloadsDesc
	out <- stillRunsDesc
	for _, gauges := range allGauges {
		for i := range gauges {
			out <- gauges[i].desc
		}
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	usage, workloads, stillRun := m.usage, m.workloads, m.stillRun
	m.mu.Unlock()
	for name, queue := range usage {
		send(out, shareDesc, queue.Share, name)
		for i := range queue.Dimensions {
			collectDimension(out, name, &queue.Dimensions[i])
		}
	}
	for name, counts := range workloads {
		for state, n := range counts {
			send(out, workloadsDesc, float64(n), name, workloadState(state).String())
		}
	}
	for name, n := range stillRun {
		send(out, stillRunsDesc, float64(n), name)
	}
}

func collectDimension(out chan<- prometheus.Metric, queue string, d *DimensionUsage) {
	gauges, values := gaugesOf(d.Dimension)
	if gauges == nil {
		klog.ErrorS(nil, "No metric of queues has such dimensions", "kind", d.Dimension.Kind, "dimension", d.Dimension)
	}
	values = append([]string{queue}, values...)
	for i := range gauges {
		if amount, there := gauges[i].value(d); there {
			send(out, gauges[i].desc, amount.Float(gauges[i].unit), values...)
		}
	}
}

// send sends a series. It omits a series with labels that are not valid UTF-8, because it would spoil all others.
func send(out chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	if series, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
		out <- series
	}
}
