// SPDX-License-Identifier: Apache-2.0

// Package version says what a program was built from. Release builds set it with the linker. Other builds know what Go knows: in a checkout,
// the commit and its date.
package version
