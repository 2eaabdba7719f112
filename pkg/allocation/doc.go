// SPDX-License-Identifier: Apache-2.0

// Package allocation reads and writes the API group resource.k8s.io for the scheduler. A [Reader] reads
// claims, templates, classes and slices, and knows which devices several claims have; [Pending] keeps the
// allocations that are decided but not yet written; a [Writer] writes allocations and reservations.
//
// The package replaces Kubernetes' own plugin for dynamic resources, which Volcano v1.14.1 runs. That
// plugin does not tell which devices it picks on a node. A second pick may differ, so a quota cannot be
// checked against it. The picking algorithm itself is Kubernetes' (see package dra).
//
// Faults in the way Volcano runs that plugin do not occur here: allocations that stay in flight forever
// (volcano pull requests 5103 and 5884), gangs whose pods share a claim that is not allocated yet
// (kubernetes issue 137617), and reservations whose failure goes unnoticed (volcano issue 5116).
package allocation
