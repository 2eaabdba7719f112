// SPDX-License-Identifier: Apache-2.0

// Package explain answers why a pod or workload waits. The answer has the checks and the one that fails, the answers of nodes, the places
// of devices and cards, the holders of what is missing, and the possible victims. The package makes the deciding checks, filters the
// nodes, and plans an eviction that it discards.
package explain
