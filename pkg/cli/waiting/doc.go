// SPDX-License-Identifier: Apache-2.0

// Package waiting is the command kubectl devicequota waiting. It shows which workloads wait, and why.
package waiting
