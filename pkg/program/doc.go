// SPDX-License-Identifier: Apache-2.0

// Package program is what the servers of this project that use controller-runtime have in common: their command, and how they start and end.
package program
