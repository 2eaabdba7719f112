// SPDX-License-Identifier: Apache-2.0

// Package capacity is the Volcano scheduler plugin for quotas. It is registered under the name capacity in place of
// upstream's plugin, and under the name capacity-card.
//
// This folder is the plugin's face: a file for each extension point of Volcano, named as Volcano names it, and files for what a
// session does at its beginning and end. They translate between Volcano and the rooms below internal:
//
//   - snapshot builds the ledger of a session from its queues and jobs, and answers what fits,
//   - devices allocates devices of Dynamic Resource Allocation,
//   - cards decides which nodes' cards a pod may get,
//   - reclaim decides what a queue may take back, and from which pods,
//   - checks decides whether a queue takes a pod or admits a job,
//   - placement decides which nodes suit pods that ask for devices or cards,
//   - nomination keeps what was freed for pods by evictions,
//   - elastic makes room for jobs by evictions,
//   - extended decides what DRA offers nodes as extended resources,
//   - usage records who used what for how long,
//   - eviction finds out which pods to evict for a job that asks for devices or cards,
//   - report tells people what was decided, and why,
//   - describe says what a session knows in the types of the visibility API,
//   - explain answers why a pod or a workload waits.
//
// What outlives sessions is in cache.go.
//
// Two things happen only if somebody asks for them. At its end, a session publishes what it knows, and before it is closed, it answers
// questions why a pod or a workload waits: visibility.go.
package capacity
