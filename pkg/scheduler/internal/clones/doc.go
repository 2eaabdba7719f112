// SPDX-License-Identifier: Apache-2.0

// Package clones keeps what sessions of the scheduler read: copies of the nodes and jobs in Volcano's cache.
//
// Volcano copies all of them for each session, with every pod, and makes Kubernetes' view of each node again. Here, a session uses the copies of the last
// session for all nodes and jobs that neither the cache nor a session has changed since. A copy is compared with its source, so that it does not matter who
// has changed either of them. Each copy is made anew now and then, and compared with the one before: a difference is a fault, and is counted.
package clones
