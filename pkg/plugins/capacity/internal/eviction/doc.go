// SPDX-License-Identifier: Apache-2.0

// Package eviction finds out which pods to evict, so that a job gets what it may take from others, and where the pods of the
// job go.
//
// A session and its ledger come in. A [Plan] goes out: a statement in which victims are evicted and the whole minimum of
// the job is pipelined. If there is no right set of victims, nothing is changed. A set of victims is right if
//
//   - without them, the whole minimum of the job gets nodes, devices, and quota at every level;
//   - none of them could stay;
//   - nobody else's right is broken: queues keep what they deserve and are guaranteed, gangs their minimum, and
//     PodDisruptionBudgets and all plugins agree.
//
// Of right sets, the cheapest one is taken, see package victims.
package eviction
