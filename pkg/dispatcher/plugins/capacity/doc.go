// SPDX-License-Identifier: Apache-2.0

// Package capacity is the dispatcher's plugin for quotas. Queues with their limits come in, and workloads with what they
// were granted and what they need. At the start of a session they become a ledger. The plugin refuses what a queue or an
// ancestor has no room for, orders queues by priority and share, and says which workloads must go so that another one gets
// what its queue deserves.
//
// A workload with a grant is charged what it was granted or what it needs, whichever is more, because members may run
// either. A workload that is held, because it has grown or is being taken back, is charged what it was granted. A queue that
// does not exist any more is charged to root.
package capacity
