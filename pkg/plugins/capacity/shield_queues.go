package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// shieldQueues replaces, at the end of a session, queues that upstream's updateQueueStatus
// would do harm with or come to harm on. The session gets copies: the originals belong to
// the scheduler's cache.
func (p *plugin) shieldQueues() {
	p.shieldRoot()
	for name := range p.misplaced {
		p.detach(api.QueueID(name))
	}
}

// shieldRoot keeps upstream from updating the spec of the root queue, which it does with a
// type that has no dra whenever root's deserved or guarantee differ from the session's
// totals. A copy that equals the totals leaves it nothing to update but the status.
func (p *plugin) shieldRoot() {
	root, found := p.session.Queues[rootQueue]
	if !found {
		return
	}
	shielded := root.Clone()
	shielded.Queue = root.Queue.DeepCopy()
	shielded.Queue.Spec.Deserved = util.ConvertRes2ResList(p.session.TotalDeserved)
	shielded.Queue.Spec.Guarantee.Resource = util.ConvertRes2ResList(p.session.TotalGuarantee)
	p.session.Queues[rootQueue] = shielded
}

// detach makes a misplaced queue look like a child of root: upstream follows the parents
// of a queue with running pods without end round a cycle, and into nothing where a parent
// is missing.
func (p *plugin) detach(id api.QueueID) {
	queue := p.session.Queues[id]
	detached := queue.Clone()
	detached.Queue = queue.Queue.DeepCopy()
	detached.Queue.Spec.Parent = ""
	p.session.Queues[id] = detached
}
