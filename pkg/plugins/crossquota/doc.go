// SPDX-License-Identifier: Apache-2.0

// Package crossquota is a plugin of Volcano's scheduler that keeps room for GPU pods on GPU nodes: it
// limits how much of a GPU node's cpu, memory and other resources all pods without a GPU may use
// together, and scores GPU nodes for them.
//
// The input is the plugin's arguments, annotations of nodes and pods, and the requests of pods. The
// output is refusals, scores, events and metrics. config.go, limit.go and account.go hold the rules,
// independent of sessions. docs/crossquota.md is its manual.
package crossquota
