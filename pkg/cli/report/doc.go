// SPDX-License-Identifier: Apache-2.0

// Package report is the command kubectl devicequota report. It shows how many hours of devices and cards queues used, were guaranteed
// without using them, and waited for. It reads the record of usage in the cluster, or the same counters from Prometheus.
package report
