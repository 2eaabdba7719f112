// SPDX-License-Identifier: Apache-2.0

// Package usage records who used what for how long.
//
// Sessions come in and become observations of an [accounting.Account]. A [Recorder] outlives sessions. It notes when pods are deleted
// and when claims lose their devices, and writes to the cluster in the background what the account knows. At the end of a [Session], the
// account learns who holds what: everything if that is due, and otherwise what has changed.
//
// The package translates. Package accounting adds up, and its package store owns the record in the cluster.
package usage
