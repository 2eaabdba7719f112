// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // the metric of the leading replica
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/helpers"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/version"
)

var (
	// configurationValid has no series before the configuration has been read.
	configurationValid = prometheus.NewGaugeVec(metric.ConfigurationValid.GaugeOpts(), nil)
	staleCopies        = prometheus.NewCounterVec(metric.StaleCopies.CounterOpts(), nil)
)

func init() {
	prometheus.MustRegister(version.Metric(), configurationValid, staleCopies)
	staleCopies.WithLabelValues()
}

// publishConfiguration publishes whether the active configuration is the complete content of the file.
func publishConfiguration(valid bool) {
	value := 0.0
	if valid {
		value = 1
	}
	configurationValid.WithLabelValues().Set(value)
}

// serveMetrics serves metrics and profiles, according to flags. If it fails, the scheduler goes on without them.
func serveMetrics(opts *options.ServerOption) {
	server := &http.Server{
		Addr:              opts.ListenAddress,
		Handler:           metricsHandler(opts),
		ReadHeaderTimeout: helpers.DefaultReadHeaderTimeout,
		ReadTimeout:       helpers.DefaultReadTimeout,
		WriteTimeout:      helpers.DefaultWriteTimeout,
	}
	klog.ErrorS(server.ListenAndServe(), "The server of metrics and profiles has stopped", "address", opts.ListenAddress)
}

func metricsHandler(opts *options.ServerOption) http.Handler {
	mux := http.NewServeMux()
	if opts.EnableMetrics {
		mux.Handle("/metrics", volcanoutil.PromHandler())
	}
	if opts.EnablePprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}
