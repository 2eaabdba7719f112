// SPDX-License-Identifier: Apache-2.0

package workload

import "strconv"

// Newer reports whether resource version a is later than b. The API server's versions are growing numbers (KEP-5504). A version
// that is not a number is older than all others.
func Newer(a, b string) bool { return number(a) > number(b) }

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
