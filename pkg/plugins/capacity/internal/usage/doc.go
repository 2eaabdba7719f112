// SPDX-License-Identifier: Apache-2.0

// Package usage records who used what for how long.
//
// Sessions become observations of an [accounting.Account]. A [Recorder] outlives sessions. It notes when pods are deleted and when
// claims lose their devices, and writes the account to the cluster in the background. At the end of a [Session], the account learns who
// holds what: everything if that is due, otherwise only the changes.
//
// This package translates. Package accounting adds up, and its package store owns the record in the cluster.
package usage
