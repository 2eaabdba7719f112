// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// protectQueues replaces, at the end of a session, queues that upstream's updateQueueStatus would harm or fail on.
// The session gets copies, because the originals belong to the scheduler's cache.
func (p *plugin) protectQueues() {
	p.protectRoot()
	for queue := range p.snapshot.Misplaced {
		p.detach(queue)
	}
}

// protectRoot keeps upstream from updating the spec of the root queue with a type that lacks spec.dra. Upstream does so
// if deserved or guarantee of root differ from the totals of the session. A copy that equals the totals
// leaves upstream nothing to update but the status.
func (p *plugin) protectRoot() {
	root, found := p.session.Queues[snapshot.RootQueue]
	if !found {
		return
	}
	protected := root.Clone()
	protected.Queue = root.Queue.DeepCopy()
	protected.Queue.Spec.Deserved = util.ConvertRes2ResList(p.session.TotalDeserved)
	protected.Queue.Spec.Guarantee.Resource = util.ConvertRes2ResList(p.session.TotalGuarantee)
	p.session.Queues[snapshot.RootQueue] = protected
}

// detach makes a misplaced queue look like a child of root. Upstream follows the parents of a queue with running pods
// without end round a cycle, and fails where a parent is missing.
func (p *plugin) detach(id api.QueueID) {
	queue := p.session.Queues[id]
	detached := queue.Clone()
	detached.Queue = queue.Queue.DeepCopy()
	detached.Queue.Spec.Parent = ""
	p.session.Queues[id] = detached
}
