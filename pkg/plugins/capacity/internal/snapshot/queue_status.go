// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/quota"
)

// ProtectQueues replaces queues at the end of a session that upstream's updateQueueStatus would damage or fail on. The
// session gets copies, because the originals belong to the scheduler's cache.
func (s *Snapshot) ProtectQueues(queues map[api.QueueID]*api.QueueInfo, totalDeserved, totalGuarantee *api.Resource) {
	protectRoot(queues, totalDeserved, totalGuarantee)
	for queue := range s.Misplaced {
		detach(queues, queue)
	}
}

// protectRoot keeps upstream from updating the spec of root with a type that lacks spec.dra. Upstream does so if deserved or
// guarantee of root differ from the totals of the session. With a copy that equals the totals, upstream updates only the status.
func protectRoot(queues map[api.QueueID]*api.QueueInfo, totalDeserved, totalGuarantee *api.Resource) {
	root, found := queues[quota.Root]
	if !found {
		return
	}
	protected := root.Clone()
	protected.Queue = root.Queue.DeepCopy()
	protected.Queue.Spec.Deserved = util.ConvertRes2ResList(totalDeserved)
	protected.Queue.Spec.Guarantee.Resource = util.ConvertRes2ResList(totalGuarantee)
	queues[quota.Root] = protected
}

// detach makes a misplaced queue look like a child of root. Upstream follows the parents of a queue with running pods:
// it loops endlessly in a cycle, and fails at a missing parent.
func detach(queues map[api.QueueID]*api.QueueInfo, id api.QueueID) {
	queue := queues[id]
	detached := queue.Clone()
	detached.Queue = queue.Queue.DeepCopy()
	detached.Queue.Spec.Parent = ""
	queues[id] = detached
}
