// SPDX-License-Identifier: Apache-2.0

// Package spread counts the clusters that a workload goes to. It uses the clusters that Karmada's scheduler has chosen, or, before
// that, the maximum that the placement allows.
//
// The package is pure: it reads no API.
package spread
