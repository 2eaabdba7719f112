// SPDX-License-Identifier: Apache-2.0

// Package holders is the command kubectl devicequota holders: who holds what, and since when.
package holders
