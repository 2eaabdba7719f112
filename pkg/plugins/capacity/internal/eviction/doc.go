// SPDX-License-Identifier: Apache-2.0

// Package eviction finds the pods to evict for a job, within its rights, and the nodes for the pods of the job.
//
// Its input is a session and its ledger. Its output is a [Plan]: a statement that evicts the victims and pipelines the whole
// minimum of the job. If there is no right set of victims, nothing is changed. A set of victims is right if
//
//   - without them, the whole minimum of the job gets nodes, devices, and quota at every level;
//   - none of them could stay;
//   - no other right is broken: queues keep what they deserve and are guaranteed, gangs their minimum, and
//     PodDisruptionBudgets and all plugins agree.
//
// Of the right sets, the cheapest one is taken, see package victims.
package eviction
