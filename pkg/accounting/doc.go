// SPDX-License-Identifier: Apache-2.0

// Package accounting counts device-seconds: who held how much for how long, how much of what queues are guaranteed was idle, and
// how much pods waited for.
//
// Sessions come in as observations: who holds what since when, and what is idle and waited for. Every ten seconds, a session says
// everything. Those between say what has begun, and when something ended. What goes out are increments: what
// has to be added to the record of the cluster so that it is complete up to a later time. Everything that an account knows besides
// that time can be observed again, so that a crash neither loses nor doubles anything that is still there.
//
// Time has whole seconds here, as the times of the API server have.
package accounting
