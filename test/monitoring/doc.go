// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the list of metrics and the pages about it against a scheduler that has seen a bit of everything. The build
// tag monitoring keeps the test out of `make test`: `make test-monitoring` runs it, and then promtool on what it leaves in
// bin/scheduler-metrics.txt.
//
// It also has the unit tests of the alerts.
package monitoring
