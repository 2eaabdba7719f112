// SPDX-License-Identifier: Apache-2.0

// Package victims chooses which pods to evict so that another pod gets its place.
//
// Units come in: pods and gangs that may be evicted, with what makes one dearer than another. Two questions come in
// with them: whether a set of units may be evicted, and whether that is enough. [Choose] returns the set that
// costs least. [Cost] says what a set costs.
//
// The package knows neither Kubernetes nor the ledger. A question about whether a set is enough is expensive, because the
// caller simulates the eviction. The package therefore asks as rarely as it can.
package victims
