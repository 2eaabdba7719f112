// SPDX-License-Identifier: Apache-2.0

// Package version says what a program was built from. The linker sets this in release builds. Other builds use Go's build information: in a
// checkout, the commit and its date.
package version
