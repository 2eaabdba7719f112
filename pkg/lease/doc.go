// SPDX-License-Identifier: Apache-2.0

// Package lease is the lock of a leader election for a leader that must not act after another one has taken over.
//
// A process can be stopped at any moment: its machine stands still, or the kernel gives it no time. When it goes on, it does not know
// that another process leads by now. Leader election tells it soon, but not at once, and what it has read of the cluster is old.
// A Lock knows when the lease was last renewed. A leader asks it before it decides, or before it sends anything.
package lease
