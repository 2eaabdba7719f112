// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// line is the workloads of a queue that wait for room, in order.
type line struct {
	queue     string
	workloads []*framework.Workload
}

// lines is a heap of lines.
type lines struct {
	all     []*line
	compare func(a, b string) int
}

func (l *lines) Len() int           { return len(l.all) }
func (l *lines) Less(i, j int) bool { return l.compare(l.all[i].queue, l.all[j].queue) < 0 }
func (l *lines) Swap(i, j int)      { l.all[i], l.all[j] = l.all[j], l.all[i] }
func (l *lines) Push(x any)         { l.all = append(l.all, x.(*line)) }
func (l *lines) Pop() any {
	last := l.all[len(l.all)-1]
	l.all = l.all[:len(l.all)-1]
	return last
}

// searchesAgain is how long after a cycle that has not looked for all victims the next one goes on.
const searchesAgain = time.Second

// grantAll grants room to the waiting workloads, queue by queue, in the order of the plugins.
func (c *cycle) grantAll() {
	c.grantPromised()
	order := &lines{compare: c.QueueOrder}
	for queue, workloads := range c.waiting {
		slices.SortFunc(workloads, c.JobOrder)
		order.all = append(order.all, &line{queue, workloads})
	}
	slices.SortFunc(order.all, func(a, b *line) int { return strings.Compare(a.queue, b.queue) })
	heap.Init(order)
	for order.Len() > 0 {
		first := order.all[0]
		if c.grantFirst(first); len(first.workloads) == 0 {
			heap.Pop(order)
			continue
		}
		heap.Init(order) // a grant also changes the shares of the queue's ancestors, and with them the order of other queues
	}
	if c.Search.End() {
		c.due(c.Now.Add(searchesAgain))
	}
}

// grantPromised grants reclaimed room to the workloads that it was reclaimed for, oldest promise first. Otherwise, the queue that
// gave it back might get it again, and would have to give it back forever.
func (c *cycle) grantPromised() {
	var first []*framework.Workload
	for queue, workloads := range c.waiting {
		c.waiting[queue] = slices.DeleteFunc(workloads, func(w *framework.Workload) bool {
			_, promised := c.memory.promised[w.Binding.UID]
			if promised {
				first = append(first, w)
			}
			return promised
		})
	}
	slices.SortFunc(first, func(a, b *framework.Workload) int {
		return cmp.Or(c.memory.promised[a.Binding.UID].until.Compare(c.memory.promised[b.Binding.UID].until), strings.Compare(a.Name(), b.Name()))
	})
	for _, w := range first {
		c.consider(w)
	}
	c.keepPromises(first)
}

// keepPromises keeps reclaimed room for workloads that cannot be granted it in this cycle, for example because an update of them is on its way.
func (c *cycle) keepPromises(considered []*framework.Workload) {
	for _, p := range c.memory.promised {
		c.due(p.until) // others may have the room then
	}
	if len(c.memory.promised) == len(considered) {
		return
	}
	for _, w := range c.Workloads {
		if p, promised := c.memory.promised[w.Binding.UID]; promised && !slices.Contains(considered, w) && w.Err == nil && !w.State.NoPolicy && !w.State.SuspendedByOthers {
			c.block(w, p.scope)
		}
	}
}

// grantFirst grants room to the first workload of a line that fits. It removes that workload and the refused ones before it.
func (c *cycle) grantFirst(l *line) {
	for len(l.workloads) > 0 {
		w := l.workloads[0]
		l.workloads = l.workloads[1:]
		if c.consider(w) {
			return
		}
	}
}

// consider grants room to a workload or refuses it, and reports whether it granted.
func (c *cycle) consider(w *framework.Workload) bool {
	if first := c.behind(w); first != nil {
		if c.givesUpMove(w) || c.shrinksFirst(w) {
			return false
		}
		waits := first.behind
		waits.Workload = w
		c.tell(waits)
		return false
	}
	refusal := c.Enqueueable(w)
	if refusal == nil {
		refusal = c.Allocatable(w)
	}
	if refusal != nil {
		if !c.givesUpMove(w) && !c.shrinksFirst(w) {
			c.refuse(w, refusal)
		}
		return false
	}
	c.Allocate(w)
	if w.Grows() {
		c.grantGrowth(w)
	} else {
		c.grantNew(w)
	}
	return true
}

// refuse refuses a workload. If other queues owe it the missing room, it reclaims that room.
func (c *cycle) refuse(w *framework.Workload, refusal *framework.Refusal) {
	if w.Grows() {
		c.tell(report.GrowthHeld(w, refusal))
	} else {
		c.tell(report.Held(w, refusal))
	}
	if refusal.Never {
		return
	}
	takes := c.mayTakeBack(w)
	if takes {
		c.takeBackFor(w, refusal.Scope)
	}
	_, promised := c.memory.promised[w.Binding.UID]
	if promised || !refusal.Passable && (takes || !c.Reclaims()) { // others may take back what it must not
		c.block(w, refusal.Scope)
	}
}

// mayTakeBack reports whether others may go for a workload. It gives up room of its own soon if it leaves a cluster. If a policy suspends dispatching, no
// cluster would run it.
func (c *cycle) mayTakeBack(w *framework.Workload) bool {
	suspended := binding.DispatchingSuspended(w.Binding) && !w.State.Hold.Dispatching
	return !suspended && !w.InVain() && !w.MovesAgain() && !slices.ContainsFunc(w.Leaves(), func(cluster string) bool { return !c.NotReady[cluster] })
}

// takeBackFor reclaims the room that other workloads owe to a workload.
func (c *cycle) takeBackFor(w *framework.Workload, scope framework.Scope) {
	if c.asked[w.Queue] {
		return // the first workload in line that may take something back does so first
	}
	victims := c.Reclaimable(w)
	if len(victims) == 0 {
		return
	}
	c.asked[w.Queue] = true
	c.memory.promise(w, c.Now, scope)
	for _, victim := range victims {
		requeue := binding.Requeue{Reason: "reclaimed for " + w.Name()}
		if before := victim.State.Requeue; before != nil {
			requeue.Attempts = before.Attempts
		}
		requeue.NotBefore.Time = c.Now
		c.victims = append(c.victims, decision{
			Decision: report.Reclaimed(victim, w), patch: binding.PatchTakeBack(victim.Binding, victim.State.Hold, victim.Queue, &requeue), again: takesBack(victim, &requeue),
		})
	}
}

// blocker is the first workload that waits for a dimension in a queue.
type blocker struct {
	dimension ledger.Ordinal
	// behind is the report for the workloads behind it. Only its Workload differs between them.
	behind report.Decision
}

// block keeps later workloads that ask for the same dimension behind w, unless another workload blocks them already.
func (c *cycle) block(w *framework.Workload, scope framework.Scope) {
	o, known := c.Dimensions.Known(scope.Dimension)
	if !known || scope.Queue == "" || slices.ContainsFunc(c.blocked[scope.Queue], func(b blocker) bool { return b.dimension == o }) {
		return
	}
	c.blocked[scope.Queue] = append(c.blocked[scope.Queue], blocker{o, report.WaitsBehind(nil, w, scope)})
}

// asksFor reports whether a workload asks for more of a dimension than its grant has.
func (c *cycle) asksFor(w *framework.Workload, o ledger.Ordinal) bool {
	return slices.ContainsFunc(w.Needs.Stays, func(e ledger.Entry) bool {
		return e.Dimension == o && (w.State.Grant == nil || e.Amount.Cmp(granted(w, c.Dimensions.Dimension(o))) > 0)
	})
}

// behind returns the first workload that waits for something that w asks for, nil if there is none.
func (c *cycle) behind(w *framework.Workload) *blocker {
	if len(c.blocked) == 0 {
		return nil
	}
	queue := w.Queue
	for range c.Queues { // a cycle of queues has no end
		blockers := c.blocked[queue]
		for i := range blockers {
			b := &blockers[i]
			if c.asksFor(w, b.dimension) {
				return b
			}
		}
		spec := c.Queues[queue]
		if spec == nil || queue == quota.Root {
			break
		}
		if queue = spec.Spec.Parent; queue == "" {
			queue = quota.Root
		}
	}
	return nil
}
