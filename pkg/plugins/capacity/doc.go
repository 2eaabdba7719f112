// SPDX-License-Identifier: Apache-2.0

// Package capacity is the Volcano scheduler plugin that is registered under the name capacity in place of
// upstream's plugin, and under the name capacity-card.
//
// This folder is the plugin's face: each file is named as Volcano names an extension point, and
// translates between Volcano and the rooms below internal:
//
//   - snapshot builds the ledger of a session from its queues and jobs, and answers what fits,
//   - devices allocates devices of Dynamic Resource Allocation,
//   - cards decides which nodes' cards a pod may get,
//   - reclaim decides what a queue may take back, and from which pods,
//   - report tells people what was decided, and why.
//
// The checks of pods and jobs are lists in pod_checks.go and job_checks.go. What a scheduling cycle
// knows of a pod is in pod_state.go. What outlives sessions is in cache.go.
package capacity
