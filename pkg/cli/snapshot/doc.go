// SPDX-License-Identifier: Apache-2.0

// Package snapshot has the command kubectl devicequota snapshot, which writes what the scheduler reads of a cluster to a file.
package snapshot
