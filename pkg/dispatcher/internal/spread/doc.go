// SPDX-License-Identifier: Apache-2.0

// Package spread says to how many clusters a workload goes. Bindings and clusters come in. Spreads go out: those of the
// clusters that Karmada's scheduler has chosen, and before that the widest that the placement allows.
//
// The package is pure: it reads no API.
package spread
