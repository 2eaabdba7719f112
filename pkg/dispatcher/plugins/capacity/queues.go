// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// queueSpecs combines queues and their limits. They are sorted by name, to give all sessions the same result. It also says
// which queues have no place in the tree.
func queueSpecs(s *framework.Snapshot, a arguments) ([]ledger.QueueSpec, map[string]string) {
	specs := make([]ledger.QueueSpec, 0, len(s.Queues)+1)
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		limits := s.Limits[name]
		specs = append(specs, ledger.QueueSpec{
			Name: name, Parent: quota.Parent(name, s.Queues[name].Spec.Parent), ListsCards: limits.ListsCards,
			Capability: limits.Capability, Deserved: limits.Deserved, Guarantee: limits.Guarantee,
		})
	}
	specs, misplaced := quota.Arrange(specs, true, ledger.QueueSpec{})
	for i := range specs {
		if top := &specs[i]; top.Name == quota.Root {
			top.ListsCards, top.DeviceQuotaRequired = top.ListsCards || a.cardQuotaRequired, a.deviceQuotaRequired
		}
	}
	return specs, misplaced
}

// queueState is the state of a queue in the session.
type queueState struct {
	id       ledger.QueueID
	priority int32
	// refusal says why the queue grants nothing, nil if it grants.
	refusal *framework.Refusal
	// mayLose says that workloads of the queue may be reclaimed.
	mayLose bool
}

// readQueues finds out which queues grant nothing.
func (p *plugin) readQueues() {
	p.queues = make(map[string]*queueState, len(p.session.Queues))
	for name, queue := range p.session.Queues {
		id, refusal := p.readQueue(name, queue)
		state := &queueState{id: id, priority: queue.Spec.Priority, mayLose: (queue.Spec.Reclaimable == nil || *queue.Spec.Reclaimable) && p.isRead(name)}
		if refusal != nil {
			state.refusal = &framework.Refusal{Reason: refusal.Reason(), Message: refusal.Message()}
		}
		p.queues[name] = state
	}
}

// isRead reports whether a queue has a place in the tree, and whether its quotas and those of all queues above it can be read. If not, nobody knows what
// it deserves and is guaranteed.
func (p *plugin) isRead(name string) bool {
	id, placed := p.books.Queue(name)
	return placed && !slices.ContainsFunc(p.books.Path(id), func(name string) bool { return p.session.Limits[name].Err != nil })
}

// queue returns the state of a queue. For a queue that does not exist, the state has a refusal.
func (p *plugin) queue(name string) *queueState {
	if state := p.queues[name]; state != nil {
		return state
	}
	missing := refusals.QueueMissing{Queue: name}
	state := &queueState{refusal: &framework.Refusal{Reason: missing.Reason(), Message: missing.Message()}}
	p.queues[name] = state
	return state
}

func (p *plugin) readQueue(name string, queue *schedulingv1beta1.Queue) (ledger.QueueID, refusals.Refusal) {
	state := cmp.Or(queue.Status.State, volcanov1beta1.QueueStateOpen) // without Volcano's controllers, queues have no state
	id, refusal := refusals.TakesPods(p.books.Ledger, p.books.misplaced, name, string(state))
	if refusal != nil {
		return id, refusal
	}
	for _, above := range p.books.Path(id) {
		if err := p.session.Limits[above].Err; err != nil {
			return id, quotaNotRead{above, err}
		}
	}
	return id, nil
}

// quotaNotRead is the refusal if the quota of a queue, or of a queue above it, cannot be read.
type quotaNotRead struct {
	queue string
	err   error
}

// Reason is the reason of the event.
func (quotaNotRead) Reason() string { return report.QuotaNotReadReason }

// Message is the text for people.
func (q quotaNotRead) Message() string {
	return fmt.Sprintf("Queue <%s> grants nothing more, because its quota cannot be read: %v", q.queue, q.err)
}

// queueOrder is negative if queue a comes first: by priority, then by share. Shares are compared where the branches of the queues
// part, so a subtree with a small share comes before one with a large share.
func (p *plugin) queueOrder(a, b string) int {
	l, r := p.queue(a), p.queue(b)
	if c := cmp.Compare(r.priority, l.priority); c != 0 {
		return c
	}
	x, foundX := p.books.Queue(a)
	y, foundY := p.books.Queue(b)
	if !foundX || !foundY {
		return 0
	}
	switch leafX, leafY := p.books.Leaf(x), p.books.Leaf(y); {
	case leafX && !leafY:
		return -1
	case leafY && !leafX:
		return 1
	case leafX && leafY:
		x, y = p.books.Branches(x, y)
	}
	return p.books.CompareShare(x, y)
}
