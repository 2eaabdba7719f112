// SPDX-License-Identifier: Apache-2.0

// Package simulate is the command kubectl devicequota simulate. It replays the state of a cluster with the objects and quotas that a
// user tries.
package simulate
