// SPDX-License-Identifier: Apache-2.0

package version

import "github.com/prometheus/client_golang/prometheus"

// Metric returns the metric devicequota_build_info of the running program. Its value is always 1. For Prometheus, an empty label, such as the
// version of Volcano in a program without it, does not exist.
func Metric() prometheus.Collector {
	info := Get()
	metric := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "devicequota_build_info",
		Help: "What the program was built from; always 1",
		ConstLabels: prometheus.Labels{
			"version": info.Version, "commit": info.Commit, "date": info.Date, "go_version": info.Go, "volcano_version": info.Volcano,
		},
	})
	metric.Set(1)
	return metric
}
