// SPDX-License-Identifier: Apache-2.0

// Package program is the common part of this project's servers that use controller-runtime: their command, their start, and their end.
package program
