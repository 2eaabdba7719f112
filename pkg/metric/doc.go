// SPDX-License-Identifier: Apache-2.0

// Package metric is the list of the metrics that this project exports, and of the metrics of Volcano and Kubernetes that its
// alerts and dashboard read.
//
// The collectors, docs/metrics.md, and the files in config/monitoring are made from the list: see hack/monitoring. Metrics
// outside the list cannot be exported or read.
package metric
