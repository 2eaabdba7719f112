// SPDX-License-Identifier: Apache-2.0

// Package store keeps the record of an account in the cluster: a UsageRecord for each queue and period, and the UsageCheckpoint.
//
// A write adds an increment to the records of many queues, and then moves the checkpoint. The increment counts only after this last
// step. Each record has the additions of the last write. Readers subtract the additions of an unfinished write, and the next writer
// replaces them.
package store
