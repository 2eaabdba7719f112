// SPDX-License-Identifier: Apache-2.0

// Package metric is the list of the metrics that this project exports, and of the metrics of Volcano and Kubernetes that its
// alerts and dashboard read.
//
// The collectors are made from the list, and so are docs/metrics.md and the files in config/monitoring: see
// hack/monitoring. A metric that is not in the list cannot be exported or read.
package metric
