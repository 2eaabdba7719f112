// SPDX-License-Identifier: Apache-2.0

// Package benchmark measures how many pods per second start through Karmada and its members, with and without the dispatcher.
// `make bench-multicluster` builds the binaries and runs it.
package benchmark
