// SPDX-License-Identifier: Apache-2.0

// Package clusterstate has what the scheduler reads of a cluster, as a value and as a file: kubectl devicequota snapshot
// writes it, and kubectl devicequota simulate replays it.
package clusterstate
