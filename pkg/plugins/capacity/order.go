// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// queueOrder is Volcano's QueueOrderFn. It is negative if l comes first: by priority, then by share.
func (p *plugin) queueOrder(l, r any) int {
	left, right := l.(*api.QueueInfo), r.(*api.QueueInfo)
	if c := cmp.Compare(right.Queue.Spec.Priority, left.Queue.Spec.Priority); c != 0 {
		return c
	}
	return p.snapshot.CompareQueues(left.Name, right.Name)
}

// victimQueueOrder is Volcano's VictimQueueOrderFn. It is negative if victims come from l first: from the queue that
// shares more ancestors with the queue of the preemptor.
func (p *plugin) victimQueueOrder(l, r, preemptor any) int {
	return p.snapshot.CompareVictimQueues(l.(*api.QueueInfo).Name, r.(*api.QueueInfo).Name, preemptor.(*api.QueueInfo).Name)
}
