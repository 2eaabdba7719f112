// SPDX-License-Identifier: Apache-2.0

// Package clusterstate holds the objects that the scheduler reads, in memory and in a file. The command kubectl devicequota snapshot
// writes the file, and kubectl devicequota simulate replays it.
package clusterstate
