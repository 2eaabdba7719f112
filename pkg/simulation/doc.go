// SPDX-License-Identifier: Apache-2.0

// Package simulation replays the state of a cluster with the real scheduler: its cache, plugins, actions, and writes, on an API server in
// memory. Between sessions, it does the work of controllers and kubelets: it creates the PodGroups and pods of Volcano Jobs, creates claims
// from templates, and ends evicted pods.
//
// Sessions run until nothing changes. The answer lists the workloads that run, wait, or are gone. The last session explains the waiting
// ones. No request reaches a real cluster.
//
// The scheduler keeps plugins, options, and feature gates in variables of the process. Only one simulation may run at a time, and none
// beside a scheduler.
package simulation
