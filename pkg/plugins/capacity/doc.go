// SPDX-License-Identifier: Apache-2.0

// Package capacity is the Volcano scheduler plugin for quotas. It is registered under the name capacity in place of upstream's plugin,
// and under the name capacity-card.
//
// This folder is the plugin's face. It has a file for each extension point of Volcano, named as in Volcano, and files for the
// beginning and the end of a session. They translate between Volcano and the packages below internal:
//
//   - snapshot builds the ledger of a session from its queues and jobs, and answers what fits,
//   - devices allocates devices of Dynamic Resource Allocation,
//   - cards decides which nodes' cards a pod may get,
//   - reclaim decides what a queue may take back, and from which pods,
//   - checks decides whether a queue accepts a pod or admits a job,
//   - placement decides which nodes suit pods that ask for devices or cards,
//   - nomination keeps the room that evictions freed for pods,
//   - elastic makes room for jobs by evictions,
//   - extended decides which extended resources DRA offers on nodes,
//   - lastvalid determines the effective device and card quotas of queues,
//   - usage records who used what for how long,
//   - eviction finds the pods to evict for a job that asks for devices or cards,
//   - report tells users what was decided, and why,
//   - describe describes a session in the types of the visibility API,
//   - explain answers why a pod or workload waits.
//
// The state that outlives sessions is in cache.go.
//
// Two things happen only on request, see visibility.go. At its end, a session publishes what it knows. Before it closes, it answers
// questions why a pod or workload waits.
package capacity
