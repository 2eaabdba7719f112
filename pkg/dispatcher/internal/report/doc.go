// SPDX-License-Identifier: Apache-2.0

// Package report tells people what the dispatcher decided, and why.
//
// Decisions come in as values, whose sentences are written in this package, and what queues use. Events on bindings and
// workloads, the status and the annotations of queues, and metrics go out. All of it is written in the background, so that no
// cycle waits for the API server. An event is written when a decision is new, not in each cycle.
package report
