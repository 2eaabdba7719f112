// SPDX-License-Identifier: Apache-2.0

// Package binding reads and writes what the dispatcher keeps on a ResourceBinding: who suspended it, what it was
// granted, and when it may be tried again. Bindings come in. States go out, and patches of nothing but the fields that the
// dispatcher owns.
//
// The package is pure: it reads no API.
package binding
