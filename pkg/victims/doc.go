// SPDX-License-Identifier: Apache-2.0

// Package victims chooses the pods to evict so another pod gets their place.
//
// The input is units: pods and gangs that may be evicted, with the properties that determine their cost. The input also
// includes two functions. They report whether a set of units may be evicted, and whether that is enough. [Choose] returns
// the cheapest set. [Cost] is the cost of a set.
//
// The package knows neither Kubernetes nor the ledger. To report whether a set is enough, the caller simulates the
// eviction, which is expensive. The package therefore asks as rarely as possible.
package victims
