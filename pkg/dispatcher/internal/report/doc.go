// SPDX-License-Identifier: Apache-2.0

// Package report tells people about the dispatcher's decisions and their reasons.
//
// Its inputs are decisions, which get their text in this package, and the usage of queues. Its outputs are events on bindings and
// workloads, the status and annotations of queues, and metrics. It writes in the background, so no cycle waits for the API server.
// It writes an event when a decision is new, not in each cycle.
package report
