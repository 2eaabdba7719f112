// SPDX-License-Identifier: Apache-2.0

// Package cache reads the input of the dispatcher's decisions: ResourceBindings, Works, clusters, queues, and the objects that
// make pods. It turns informers into snapshots, one for each session.
//
// The results for a binding are kept until the binding, its workload, its Works, or something that all workloads depend on
// changes. A write to a binding is visible at once, before the informer shows it.
package cache
