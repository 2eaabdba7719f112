// SPDX-License-Identifier: Apache-2.0

// Package snapshot is the command kubectl devicequota snapshot. It writes the objects that the scheduler reads to a file.
package snapshot
