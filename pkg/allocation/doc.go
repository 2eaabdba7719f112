// SPDX-License-Identifier: Apache-2.0

// Package allocation reads and writes the API group resource.k8s.io for the scheduler. A [Reader] reads claims, templates, classes and
// slices, and detects devices with conflicting claims. [Pending] keeps allocations that are decided but not written yet. A [Writer] writes
// allocations and reservations.
//
// The package replaces Kubernetes' own plugin for dynamic resources, which Volcano v1.14.1 runs. That plugin does not report the devices
// that it picks on a node. A second pick may differ, so a quota cannot be checked against it. The picking algorithm is still Kubernetes'
// (see package dra).
//
// The package avoids faults in the way Volcano runs that plugin: allocations that stay in flight forever (volcano pull requests 5103 and
// 5884), gangs whose pods share an unallocated claim (kubernetes issue 137617), and reservations that fail unnoticed (volcano issue 5116).
package allocation
