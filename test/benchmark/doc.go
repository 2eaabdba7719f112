// SPDX-License-Identifier: Apache-2.0

// Package benchmark compares the cost of the capacity plugin with upstream's. Both run in Volcano's own
// session on the same generated cluster. `make bench` runs it and writes docs/performance.md.
package benchmark
