// SPDX-License-Identifier: Apache-2.0

// Package binding reads and writes the records of the dispatcher on a ResourceBinding: the suspension, the grant, and the time of
// the next attempt. It turns bindings into states, and makes patches of only the fields that the dispatcher owns.
//
// The package is pure: it reads no API.
package binding
