// SPDX-License-Identifier: Apache-2.0

// Package capacity is the Volcano scheduler plugin that is registered under the name capacity in place of
// upstream's plugin, and under the name capacity-card.
//
// This folder is the plugin's face: a file for each extension point of Volcano, named as Volcano names it, and files for what a
// session does at its beginning and end. They translate between Volcano and the rooms below internal:
//
//   - snapshot builds the ledger of a session from its queues and jobs, and answers what fits,
//   - devices allocates devices of Dynamic Resource Allocation,
//   - cards decides which nodes' cards a pod may get,
//   - reclaim decides what a queue may take back, and from which pods,
//   - usage records who used what for how long,
//   - eviction finds out which pods to evict for a job that asks for devices or cards,
//   - report tells people what was decided, and why,
//   - describe says what a session knows in the types of the visibility API,
//   - explain has what explanations are made of.
//
// The checks of pods and jobs are lists in pod_checks.go and job_checks.go. What a scheduling cycle
// knows of a pod is in pod_state.go. What outlives sessions is in cache.go.
//
// Two things happen only if somebody asks for them. At its end, a session publishes what it knows: visibility.go. Before
// it is closed, it answers questions why a pod or a workload waits: explain*.go. These files ask the checks that decide, filter
// the nodes, and plan an eviction that they discard. They decide nothing themselves and change nothing.
package capacity
