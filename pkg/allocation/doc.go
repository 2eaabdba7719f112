// Package allocation is the scheduler's dealings with the API group resource.k8s.io: what
// there is of claims, templates, classes and slices comes in through a [Reader], which of them
// are being allocated is kept in [Pending], and what was decided is written by a [Writer].
//
// It takes the place of Kubernetes' own plugin for dynamic resources, which Volcano v1.14.1
// runs, because that one keeps to itself which devices it picks on a node: a second pick need
// not come out the same, and a quota that was checked against another pick holds nothing. The
// picking itself is Kubernetes' (see package dra). Faults of Volcano's way of running that
// plugin go with it: allocations that stay in flight for ever (volcano pull requests 5103 and 5884),
// gangs whose pods share one claim that is not allocated yet (kubernetes issue 137617), and
// reservations that fail without anybody noticing (volcano issue 5116).
package allocation
