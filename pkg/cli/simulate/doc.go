// SPDX-License-Identifier: Apache-2.0

// Package simulate has the command kubectl devicequota simulate, which replays the state of a cluster with objects and quotas that
// are tried.
package simulate
