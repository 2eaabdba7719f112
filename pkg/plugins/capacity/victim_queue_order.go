// SPDX-License-Identifier: Apache-2.0

package capacity

import "volcano.sh/volcano/pkg/scheduler/api"

// victimQueueOrder is Volcano's VictimQueueOrderFn. It is negative if victims come from l first: from the queue that
// shares more ancestors with the queue of the preemptor.
func (p *plugin) victimQueueOrder(l, r, preemptor any) int {
	return p.snapshot.CompareVictimQueues(l.(*api.QueueInfo).Name, r.(*api.QueueInfo).Name, preemptor.(*api.QueueInfo).Name)
}
