// SPDX-License-Identifier: Apache-2.0

// Package version is the command kubectl devicequota version: which versions the command and the scheduler have.
package version
