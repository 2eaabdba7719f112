// SPDX-License-Identifier: Apache-2.0

// Package members asks member clusters for the rest of workloads that must end or shrink, and for workloads that Karmada has lost.
//
// It connects to a member as Karmada does, with the Secret that the Cluster object names. It reads only the metadata of pods and
// workloads, and the few workloads that Karmada has lost. A dispatcher cycle never waits for an answer: it uses the last one.
package members
