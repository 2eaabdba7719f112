// SPDX-License-Identifier: Apache-2.0

// Package devices allocates devices of Dynamic Resource Allocation in the shape of kube-scheduler's plugin
// for it.
//
// [Session.PreFilter] reads the claims of a pod, [Session.Filter] picks devices on a node and checks the
// quota against just these devices, [Session.Reserve] takes them, [Session.Unreserve] puts them back,
// and [Cache.PreBind] writes them before the pod is bound. [Session.Deallocate] takes devices away from claims
// that keep their pod from running.
//
// Two places know the allocation of a claim: the API server, read through the [Cache], and the allocations in
// flight, which are decided but not written. Everything else is derived from these two.
package devices
