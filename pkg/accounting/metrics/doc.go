// SPDX-License-Identifier: Apache-2.0

// Package metrics publishes what the record of usage says as counters for Prometheus.
package metrics
