// SPDX-License-Identifier: Apache-2.0

// Package cli has what the commands of kubectl-devicequota share: how they reach the cluster, and how they print. Each command
// is a package below this one.
package cli
