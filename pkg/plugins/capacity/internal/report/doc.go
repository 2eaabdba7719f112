// SPDX-License-Identifier: Apache-2.0

// Package report tells people what the capacity plugin decided, and why.
//
// Refusals and queue problems come in as values that hold the facts. Their sentences are written in
// this package only. Events, the conditions of pods and PodGroups, the annotations of queues that show what
// is in use, and metrics go out. An event is written when its message is new, and everything else when it has
// changed.
package report
