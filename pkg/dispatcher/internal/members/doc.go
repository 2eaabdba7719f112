// SPDX-License-Identifier: Apache-2.0

// Package members asks member clusters what still runs there: of workloads that were told to end or to shrink, and of workloads
// that Karmada has lost.
//
// It connects to a member as Karmada does, with the Secret that the Cluster object names, and reads only the metadata of pods and
// of workloads, and the few workloads that Karmada has lost. A cycle of the dispatcher never waits for an answer: it takes the last one.
package members
