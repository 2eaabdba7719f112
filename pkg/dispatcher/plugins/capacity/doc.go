// SPDX-License-Identifier: Apache-2.0

// Package capacity is the dispatcher's plugin for quotas. Its inputs are queues with limits, and workloads with grants and needs. At
// the start of a session, it makes a ledger of them. It refuses workloads that a queue or its ancestors have no room for, orders
// queues by priority and share, and chooses victims for queues that have less than they deserve.
//
// A workload with a grant is charged the larger of its grant and its needs, because members may run either. A held workload, which has grown or is
// being taken back, is charged its grant. Workloads of a queue that does not exist any more are charged to root.
package capacity
