// SPDX-License-Identifier: Apache-2.0

// Package metrics publishes the record of usage as counters for Prometheus.
package metrics
