// SPDX-License-Identifier: Apache-2.0

// Package report tells users what the capacity plugin decided, and why.
//
// The input consists of refusals and queue problems, as values that hold the facts. Only this package writes their sentences.
// The output consists of events, conditions of pods and PodGroups, usage annotations of queues, and metrics. An event is written
// when its message is new, and everything else when it has changed.
package report
