// SPDX-License-Identifier: Apache-2.0

// Package explain answers why a pod or a workload waits: which checks were made and which one fails, what nodes answer, where devices and
// cards are, who holds what is missing, and who would be evicted. It asks the checks that decide, filters the nodes, and plans an eviction
// that it discards.
package explain
