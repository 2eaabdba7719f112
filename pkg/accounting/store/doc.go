// SPDX-License-Identifier: Apache-2.0

// Package store keeps the record of an account in the cluster: a UsageRecord for each queue and period, and the UsageCheckpoint.
//
// A write adds an increment to the records of many queues, and then moves the checkpoint. Only this last step makes the increment
// count. Each record says what the last write added, so that whoever reads a write that was not finished leaves it out, and
// the next writer replaces it.
package store
