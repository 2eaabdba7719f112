// SPDX-License-Identifier: Apache-2.0

// Package cache reads what the dispatcher decides on: ResourceBindings, Works, clusters, queues, and the objects that
// make pods. Informers come in. Snapshots go out, one for each session.
//
// What has been computed of a binding is kept until the binding, its workload, its Works, or something that all
// workloads depend on has changed. A write to a binding is visible at once, before the informer shows it.
package cache
