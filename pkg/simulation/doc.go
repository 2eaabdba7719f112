// SPDX-License-Identifier: Apache-2.0

// Package simulation replays the state of a cluster with the real scheduler: its cache, its plugins, its actions, and its writes, on an
// API server in memory. Between sessions it does what controllers and kubelets do: PodGroups and pods of Volcano Jobs, claims from
// templates, and the end of pods that are evicted.
//
// Sessions run until nothing changes any more. What then runs, waits, or is gone is the answer, and for what waits the last session
// explains why. Nothing reaches a real cluster.
//
// The scheduler keeps much in variables of the process: registered plugins, options, feature gates. Only one simulation may run at a
// time, and none beside a scheduler. One after the other is fine.
package simulation
