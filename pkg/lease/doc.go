// SPDX-License-Identifier: Apache-2.0

// Package lease is the lock of a leader election for a leader that must not act after another one has taken over.
//
// A process can pause at any moment: its machine is suspended, or the kernel gives it no time. When it resumes, it does not know about a new
// leader, and its view of the cluster is old. Leader election notifies it soon, but not at once. A Lock knows the time of the last renewal.
// A leader checks it before each decision, or before each request.
package lease
