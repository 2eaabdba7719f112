// SPDX-License-Identifier: Apache-2.0

// Package devices allocates devices of Dynamic Resource Allocation, in the shape of kube-scheduler's plugin.
//
// [Session.PreFilter] reads the claims of a pod. [Session.Filter] picks devices on a node and checks exactly these devices
// against the quota. [Session.Reserve] takes the devices, [Session.Unreserve] puts them back, and [Cache.PreBind] writes
// them before the pod is bound. [Session.Deallocate] takes devices away from claims that keep their pod from running.
//
// The allocation of a claim is known in two places: the API server, read through the [Cache], and the allocations in
// flight, which are decided but not written yet. Everything else is derived from these two.
package devices
