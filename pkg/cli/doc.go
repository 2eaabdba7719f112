// SPDX-License-Identifier: Apache-2.0

// Package cli has the parts that the commands of kubectl-devicequota share: how to reach the cluster, and how to print. Each
// command is a package below this one.
package cli
