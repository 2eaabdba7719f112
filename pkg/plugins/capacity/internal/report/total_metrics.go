// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/metric"
)

var (
	clusterCapacity    = gaugeVector(metric.ClusterCapacity)
	clusterUsed        = gaugeVector(metric.ClusterUsed)
	clusterFree        = gaugeVector(metric.ClusterFree)
	clusterLargestFree = gaugeVector(metric.ClusterLargestFree)
)

// Totals updates the metrics of what the cluster has.
func (r *Reporter) Totals(totals []v1alpha1.Total) {
	there := map[v1alpha1.Dimension]bool{}
	for i := range totals {
		t := &totals[i]
		there[t.Dimension] = true
		set := func(g *prometheus.GaugeVec, amount resource.Quantity) {
			g.WithLabelValues(string(t.Kind), t.Name).Set(amount.AsApproximateFloat64())
		}
		set(clusterCapacity, t.Total)
		set(clusterUsed, t.Used)
		set(clusterFree, t.Free)
		set(clusterLargestFree, t.LargestFree)
	}
	for d := range r.totals {
		if !there[d] {
			for _, g := range []*prometheus.GaugeVec{clusterCapacity, clusterUsed, clusterFree, clusterLargestFree} {
				g.DeleteLabelValues(string(d.Kind), d.Name)
			}
		}
	}
	r.totals = there
}
