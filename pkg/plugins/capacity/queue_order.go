package capacity

import (
	"cmp"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// queueOrder is Volcano's QueueOrderFn, negative when l comes first: by priority, then by
// share. With hierarchy, leaf queues come before others, and two leaf queues are compared
// where their branches part, so that a subtree that has got little goes before one that has
// got much.
func (p *plugin) queueOrder(l, r any) int {
	left, right := l.(*api.QueueInfo), r.(*api.QueueInfo)
	if c := cmp.Compare(right.Queue.Spec.Priority, left.Queue.Spec.Priority); c != 0 {
		return c
	}
	a, b, found := p.pair(left, right)
	if !found {
		return 0
	}
	switch leafA, leafB := p.ledger.Leaf(a), p.ledger.Leaf(b); {
	case leafA && !leafB:
		return -1
	case leafB && !leafA:
		return 1
	case leafA && leafB:
		a, b = p.ledger.Branches(a, b)
	}
	return p.ledger.CompareShare(a, b)
}

// victimQueueOrder is Volcano's VictimQueueOrderFn, negative when victims come from l first:
// the queue that shares more ancestors with the preemptor's.
func (p *plugin) victimQueueOrder(l, r, preemptor any) int {
	own, found := p.ledger.Queue(preemptor.(*api.QueueInfo).Name)
	a, b, both := p.pair(l.(*api.QueueInfo), r.(*api.QueueInfo))
	if !found || !both {
		return 0
	}
	return cmp.Compare(p.ledger.CommonDepth(b, own), p.ledger.CommonDepth(a, own))
}

// pair is false when one of two queues is set aside.
func (p *plugin) pair(l, r *api.QueueInfo) (ledger.QueueID, ledger.QueueID, bool) {
	a, foundA := p.ledger.Queue(l.Name)
	b, foundB := p.ledger.Queue(r.Name)
	return a, b, foundA && foundB
}
